"""Sums of products by the instructions that a target has."""
