"""Native code for loop nests."""
