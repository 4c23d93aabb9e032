"""Contracts as tables and pages, and how often they differ."""
