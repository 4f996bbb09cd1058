"""The pages as HTML: what their templates need, and the plane as one text without a server."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cayleyklein import __version__
from cayleyklein._validation import require
from cayleyklein.app import _worksheets
from cayleyklein.app._exports import view_elements
from cayleyklein.app._figures import FIGURE_COLORS
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._scene import PICTURE_SIZE, Drafter, headline
from cayleyklein.app._state import CHART_NAMES, LETTERS, RANGES, PlaneState
from cayleyklein.app._tools import MOVES, TOOLS
from cayleyklein.plotting.shapes import MARKERS, PALETTE, STRENGTHS

APP = Path(__file__).parent
TOUR = json.loads((APP / "static" / "tour.json").read_text("utf-8"))  # scenes are addresses


@cache
def first_views() -> tuple[str, tuple[str, ...]]:
    """Return the sentence and the views of the first picture, which need no script."""
    palette = {name: f"var(--{name})" for name in PALETTE["light"]}
    drafter = Drafter(PlaneState.from_query(""))
    drawn = (view_elements(drafter.scene(chart), palette) for chart in drafter.state.charts)
    frame = f'<svg class="still" viewBox="0 0 {PICTURE_SIZE} {PICTURE_SIZE}" aria-hidden="true">'
    views = tuple(f"{frame}{shapes}</svg>" for shapes in drawn)
    return headline(drafter.state, drafter.construction), views


def with_soft_hyphens(title: str) -> str:
    """Say where the long names of tools may be broken."""
    for start, end in (("Perpen", "dicular"), ("Equi", "distant"), ("Horo", "cycle")):
        title = title.replace(start + end, f"{start}\u00ad{end}")
    return title


def palette_css() -> str:
    """Return the colours of the pictures as variables of styles."""
    light, dark = (
        "".join(f"--{name}:{color};" for name, color in PALETTE[theme].items())
        for theme in ("light", "dark")
    )
    dimmed = f':root:not([data-theme="light"]){{{dark}}}'
    return (
        f":root{{{light}}}@media(prefers-color-scheme:dark){{{dimmed}}}"
        f':root[data-theme="dark"]{{{dark}}}'
    )


def page_values(
    page: str,
    sheets: Mapping[str, _worksheets.Worksheet],
    *,
    first: bool = False,
    embedded: bool = False,
) -> dict[str, Any]:
    """Return the values of a page's template; `first` draws the first picture without scripts."""
    facts: dict[str, Any] = {"palette": PALETTE, "markers": MARKERS, "letters": LETTERS}
    facts |= {"strengths": STRENGTHS, "embedded": embedded}
    if page == "plane":
        titles = {name: sheet.title for name, sheet in sheets.items()}
        facts |= {"tour": TOUR, "sheets": titles, "hues": FIGURE_COLORS}
    tiles = {name: (*about, "move") for name, about in MOVES.items()}
    tiles |= {name: (t.title, t.key, t.help, t.group) for name, t in TOOLS.items()}
    said, firsts = first_views() if first else ("", ())
    return {
        "page": page,
        "version": __version__,
        "ranges": RANGES,
        "charts": CHART_NAMES,
        "groups": {"move": "Move", "construct": "Construct", "measure": "Measure"},
        "tiles": tiles,
        "soft": with_soft_hyphens,
        "headline": said,
        "firsts": firsts,
        "letters": LETTERS,
        "most_bytes": LIMITS.table_bytes,
        "facts": json.dumps(facts).replace("<", "\\u003c"),
    }


def embedded_page() -> str:
    """Return the page of the plane as one text, with its scripts and styles, for a cell."""
    template = require("tornado.template", "app")
    loader = template.Loader(str(APP / "templates"))
    values = page_values("plane", _worksheets.bundled_worksheets(), embedded=True)
    page = loader.load("plane.html").generate(**values).decode()
    page = page.replace(
        '<link rel="stylesheet" href="/palette.css">', f"<style>{palette_css()}</style>"
    )

    def asset(name: str) -> str:
        return (APP / "static" / name).read_text("utf-8").replace("</script", "<\\/script")

    page = page.replace(
        '<link rel="stylesheet" href="/assets/explorer.css">',
        f"<style>{asset('explorer.css')}</style>",
    )
    scripts = re.findall(r'<script src="/assets/([a-z]+[.]js)" defer></script>', page)
    for name in scripts:
        page = page.replace(f'<script src="/assets/{name}" defer></script>', "")
    inline = "".join(f"<script>{asset(name)}</script>" for name in scripts)
    return str(page.replace("</body>", f"{inline}</body>"))
