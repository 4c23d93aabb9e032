"""Sets of examples: reading, running and counting them."""
