"""What a model shows without running: layers, statistics, findings."""
