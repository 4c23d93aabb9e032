"""Statements about a model that hold for all inputs, not only for some."""
