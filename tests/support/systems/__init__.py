"""Running the systems that contracts are compared with."""
