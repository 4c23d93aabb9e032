"""qlower beside other runtimes: measured interleaved, in one process and one run."""
