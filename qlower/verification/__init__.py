"""What is shown of a model for all inputs, rather than for some."""
