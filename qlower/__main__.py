"""`python -m qlower` is the command `qlower`."""

import sys

from qlower.cli import main

if __name__ == "__main__":
    sys.exit(main())
