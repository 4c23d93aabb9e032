"""The dialects of qlower."""
