"""Where the figures are written: ``python examples/paper/plot_spheres.py -o DIR``."""

import argparse
import sys
from pathlib import Path


def arguments():
    """Return what the command line says: the directory, made when it is missing, and the haste."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="draw a few frames of an animation")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    return given


def save(figure):
    """Save a figure as PNG and SVG under the name of the script."""
    for suffix in (".png", ".svg"):
        path = arguments().output / Path(sys.argv[0]).with_suffix(suffix).name
        figure.savefig(path, dpi=150, bbox_inches="tight")
