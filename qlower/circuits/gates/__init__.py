"""A whole model as a list of integer gates, with the proved bits of every wire."""
