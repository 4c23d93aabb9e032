"""A model to look at: a page that needs nothing else, and files for Model Explorer."""
