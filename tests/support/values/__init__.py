"""Values to test arithmetic with, and what it gives."""
