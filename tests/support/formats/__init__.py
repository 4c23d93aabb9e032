"""Writing small files of each format."""
