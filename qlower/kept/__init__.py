"""Data kept between runs: pieces, and the keys that name them."""
