"""Where the figures are written: ``python examples/paper/plot_spheres.py -o DIR``."""

import argparse
import sys
from pathlib import Path

from matplotlib.animation import PillowWriter


def arguments():
    """Return what the command line says: the directory, made when it is missing, and the haste."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="draw a few frames of an animation")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    return given


def path_of(suffix):
    """Return the path of a file under the name of the script."""
    return arguments().output / Path(sys.argv[0]).with_suffix(suffix).name


def save(figure):
    """Save a figure as PNG and SVG."""
    for suffix in (".png", ".svg"):
        figure.savefig(path_of(suffix), dpi=150, bbox_inches="tight")


def animate(figure, draw, moments, fps=12):
    """Save what is drawn at each moment as GIF, in the layout of the first one."""
    writer = PillowWriter(fps=fps)
    with writer.saving(figure, path_of(".gif"), figure.dpi):
        for moment in moments:
            draw(moment)
            writer.grab_frame()
            figure.set_layout_engine("none")
