"""Trained weights written back into the file that a model came from."""
