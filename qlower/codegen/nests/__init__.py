"""What a loop nest is, how it is walked and how it is cut."""
