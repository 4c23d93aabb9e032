"""Sides of a comparison: contracts, dumps, live systems, versions of a model."""
