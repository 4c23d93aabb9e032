"""Start recording in each process that a recorded test starts."""

import os

if "QLOWER_REACH" in os.environ:
    import blocks

    blocks.start()
