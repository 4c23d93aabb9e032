"""What is kept between runs: keys and the pieces that they name."""
