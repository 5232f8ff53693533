"""`python -m foldaway`, the same as `foldaway`."""

import sys

from foldaway.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
