"""``python -m cayleyklein``: the command."""

from cayleyklein.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
