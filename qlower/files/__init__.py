"""Reading and writing arrays and files, all or nothing."""
