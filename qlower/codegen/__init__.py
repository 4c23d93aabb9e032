"""From loop nests to native code."""
