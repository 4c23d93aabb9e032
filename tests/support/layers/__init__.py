"""Small models: drawn, written out, or of one layer."""
