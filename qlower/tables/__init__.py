"""Tables and results as text, for people and for programs."""
