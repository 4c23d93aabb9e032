"""Facts about a model that need no run: layers, statistics, findings."""
