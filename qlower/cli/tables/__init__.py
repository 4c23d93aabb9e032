"""Tables that one command prints."""
