"""Machine code for other machines, run here by unicorn."""
