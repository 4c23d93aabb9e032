"""Other systems, each with a `prepare` that gives what runs a model's file."""
