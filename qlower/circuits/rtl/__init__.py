"""An engineer's own Verilog compared with a contract, for all inputs."""
