"""Loop nests: their parts, their iteration and their tiling."""
