"""One file a contract, by its name."""
