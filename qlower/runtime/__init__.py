"""Native code in this process, and kept on disk."""
