"""A page without a server: the same plane at many curvatures, and a slider between them."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np

from cayleyklein import __version__
from cayleyklein.app._code import plane_code
from cayleyklein.app._scene import make_scene
from cayleyklein.app._state import PlaneState
from cayleyklein.app._svg import SIZE, describe, picture
from cayleyklein.app._theme import THEMES

__all__ = ["offline_page"]

STEP = 0.05
"""Between the curvatures that the page holds; that of the state is one more."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cayleyklein: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: {ink}; background: {paper};
        max-width: 46rem; margin: 0 auto; padding: 1rem; }}
svg {{ width: 100%; height: auto; border: 1px solid {soft}; border-radius: 8px; }}
input {{ width: 100%; }}
pre {{ overflow: auto; padding: 1rem; border: 1px solid {soft}; border-radius: 8px; }}
svg g {{ display: none; }}
svg g.on {{ display: inline; }}
</style>
</head>
<body>
<h1>A curved plane</h1>
<label for="K">Curvature K = <output id="value">{value}</output></label>
<input id="K" type="range" min="0" max="{last}" value="{start}">
<svg viewBox="0 0 {size} {size}" role="img" aria-labelledby="what">
<title id="what">{title}</title>
{frames}
</svg>
<details><summary>The code</summary><pre>{code}</pre></details>
<p>Made with cayleyklein {version}.</p>
<script>
const frames = document.querySelectorAll("svg g"), slider = document.getElementById("K");
function show() {{
  frames.forEach((frame, i) => frame.classList.toggle("on", i === Number(slider.value)));
  document.getElementById("value").textContent = frames[slider.value].dataset.k;
}}
slider.addEventListener("input", show);
show();
</script>
</body>
</html>
"""


def offline_page(state: PlaneState, *, theme: str = "light") -> str:
    """Return a whole page that needs no server and no network.

    Examples
    --------
    >>> page = offline_page(PlaneState())
    >>> page.count("<g "), "src=" in page
    (41, False)
    """
    steps = {round(K, 2) + 0.0 for K in np.arange(-1, 1 + STEP / 2, STEP).tolist()}
    curvatures = sorted(steps | {state.curvature})
    look = THEMES[theme]
    frames = []
    for K in curvatures:
        frame = replace(state, curvature=K)
        drawn = picture(frame, make_scene(frame), look, SIZE)
        frames.append(f'<g data-k="{K:.2f}">{drawn}</g>')
    return PAGE.format(
        title=escape(describe(state, make_scene(state))),
        ink=look.ink,
        paper=look.paper,
        soft=look.soft,
        value=f"{state.curvature:.2f}",
        last=len(curvatures) - 1,
        start=curvatures.index(state.curvature),
        size=SIZE,
        frames="\n".join(frames),
        code=escape(plane_code(state)),
        version=__version__,
    )
