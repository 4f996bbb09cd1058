# What the gallery asks of sphinx-gallery beyond its defaults.

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

PICTURES = Path(__file__).parent / "_build" / "pictures"

SLOW = {"plot_truly_curved.py"}
"""Examples that the gallery runs with --quick."""


class Arguments:
    """The command line of an example: its files go where they are in nobody's way."""

    def __repr__(self):
        return "Arguments"

    def __call__(self, _gallery_conf, script_vars):
        name = Path(script_vars["src_file"]).name
        return ["-o", str(PICTURES), *(["--quick"] if name in SLOW else [])]


def gif_scraper(_block, block_vars, gallery_conf):
    """Show the animation that an example has written."""
    written = (PICTURES / Path(block_vars["src_file"]).name).with_suffix(".gif")
    if not written.exists():
        return ""
    # After the last figure that matplotlib's scraper has taken.
    place = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
    shutil.move(written, place)
    return figure_rst([str(place)], gallery_conf["src_dir"])
