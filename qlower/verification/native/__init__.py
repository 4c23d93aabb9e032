"""Whether machine code gives what the contract says, for all inputs."""
