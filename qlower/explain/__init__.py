"""Explanations: how one element came about, and where two systems part."""
