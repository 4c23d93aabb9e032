"""How each command is called: its options and help, without what runs it."""
