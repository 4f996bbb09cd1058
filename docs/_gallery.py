# What the gallery asks of sphinx-gallery beyond its defaults.

import pickle
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image
from sphinx_gallery.scrapers import figure_rst

HERE = Path(__file__).parent
PICTURES = HERE / "_build" / "pictures"
PANELS = HERE / "_build" / "panels"

ORDER = (
    "truly_curved",
    "hyperbolic_disc",
    "globe_cells",
    "learning_curves",
    "is_it_real",
    "explain",
    "data_frames",
    "grid_search",
    "objectives",
    "low_rank",
    "decision_regions",
    # The paper's, in its order.
    "cross_ratio",
    "distance_and_angle",
    "projections",
    "bisectors",
    "voronoi",
    "spheres",
    "bichromatic",
    "order_k",
)
"""Examples by the order of the questions that they answer; others come last."""

PANEL_WIDTH, LEAST_SHRINK = 3.3, 0.64
"""Inches that a panel is drawn in, so that its text can be read in a card of the gallery."""


class Order:
    """Sort the examples of a section."""

    def __init__(self, _folder):
        pass

    def __repr__(self):
        return "Order"

    def __call__(self, name):
        """Return a key for the name of a file."""
        stem = name.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)


class Arguments:
    """The command line of an example: its files go where they are in nobody's way."""

    def __repr__(self):
        return "Arguments"

    def __call__(self, _gallery_conf, _script_vars):
        return ["-o", str(PICTURES)]


def panel_scraper(_block, block_vars, _gallery_conf):
    """Keep the first panel of an example's first figure, small, so that its text can be read."""
    path = PANELS / f"{Path(block_vars['src_file']).stem}.png"
    if plt.get_fignums() and not path.exists():
        # A copy, since a layout that was computed at another size leaves traces.
        figure = pickle.loads(pickle.dumps(plt.figure(plt.get_fignums()[0])))
        figure.canvas.draw()
        shrink = min(1.0, max(LEAST_SHRINK, PANEL_WIDTH / panel_box(figure).width))
        figure.set_size_inches(figure.get_size_inches() * shrink)
        figure.canvas.draw()
        figure.set_layout_engine("none")
        for artist in [*figure.legends, *figure.axes[1:]]:
            artist.set_visible(False)
        figure.savefig(path, dpi=150, bbox_inches=panel_box(figure))
        plt.close(figure)
    return ""


def panel_box(figure):
    """Return the place of the first axes with their labels, in inches."""
    box = figure.axes[0].get_tightbbox().padded(6)
    return box.transformed(figure.dpi_scale_trans.inverted())


def gif_scraper(_block, block_vars, gallery_conf):
    """Show the animation that an example has written."""
    written = (PICTURES / Path(block_vars["src_file"]).name).with_suffix(".gif")
    if not written.exists():
        return ""
    # After the last figure that matplotlib's scraper has taken.
    place = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
    shutil.move(written, place)
    return figure_rst([str(place)], gallery_conf["src_dir"])


def prepare(_app):
    """Make the folders for pictures; panels of an earlier build would stay for ever."""
    shutil.rmtree(PANELS, ignore_errors=True)
    for folder in (PICTURES, PANELS):
        folder.mkdir(parents=True, exist_ok=True)


def replace_thumbnails(_app):
    """Put the panels, on a white card, in place of the thumbnails of whole figures."""
    for thumbnail in (HERE / "auto_examples").rglob("thumb/sphx_glr_plot_*_thumb.png"):
        stem = thumbnail.stem.removeprefix("sphx_glr_").removesuffix("_thumb")
        if (PANELS / f"{stem}.png").exists():
            panel = Image.open(PANELS / f"{stem}.png").convert("RGB")
            panel.thumbnail((460, 340))
            card = Image.new("RGB", (480, 360), "white")
            card.paste(panel, ((480 - panel.width) // 2, (360 - panel.height) // 2))
            card.save(thumbnail)
