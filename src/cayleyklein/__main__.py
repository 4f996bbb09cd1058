"""``python -m cayleyklein``: the command."""

import sys

from cayleyklein.cli import main

if __name__ == "__main__":
    sys.exit(main())
