"""Accuracy recovered without training, measured by a contract's own integers."""
