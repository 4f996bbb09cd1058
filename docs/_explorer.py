# The explorer's offline page, which the page about the explorer embeds.

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats.qmc import Halton

from cayleyklein.app._exports import offline_page
from cayleyklein.app._state import Generator, PlaneState

SCENES = {
    "plane": {"chart": "klein", "shown": frozenset({"regions", "balls"})},
    "hemisphere": {"chart": "hemisphere", "shown": frozenset({"cells", "regions"})},
}


def scene():
    """Return two classes of points inside the conic, with a wavy border."""
    disc = 2 * Halton(2, scramble=False).random(31)[1:] - 1
    disc = disc[np.linalg.norm(disc, axis=1) < 0.9].round(3)
    labels = (disc[:, 0] + 0.5 * np.sin(5 * disc[:, 1]) > 0).astype(int).tolist()
    points = (Generator(*place, label) for place, label in zip(disc.tolist(), labels, strict=True))
    return PlaneState(points=tuple(points), major=1.0, minor=1.0, angle=0.0, radius=0.2)


def write_explorer(app, exception):
    """Write the offline page of each scene, light and dark, beside the other static files."""
    if exception is None and app.builder.format == "html":
        for name, shown in SCENES.items():
            for theme in ("light", "dark"):
                page = offline_page(replace(scene(), **shown), theme=theme)
                path = Path(app.outdir) / "_static" / f"explorer-{name}-{theme}.html"
                path.write_text(page, encoding="utf-8")
