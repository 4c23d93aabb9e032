"""The usage of each command: its options and help, without the code that runs it."""
