"""The explorer: a web page to play with the geometries (the extra ``app``).

``cayleyklein explore`` starts it, or :func:`explore`. The library computes
everything; the browser only draws it. :func:`draw_plane` draws the same pictures without it.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from cayleyklein._validation import as_text, expect, require
from cayleyklein.app._exports import draw_plane
from cayleyklein.app._worksheets import read_worksheets

__all__ = ["draw_plane", "explore"]


def explore(
    X: Any = None,
    metric: Any = None,
    *,
    labels: ArrayLike | None = None,
    height: int = 760,
    port: int = 5006,
    host: str = "127.0.0.1",
    browser: bool = True,
    on_start: Callable[[str], None] | None = None,
    worksheets: str | Path | None = None,
    chart: str = "poincare",
) -> Any:
    """Show the plane in a notebook's cell, or serve the explorer until interrupted.

    With rows X, or in a notebook (Jupyter, Colab, VS Code, marimo), the plane is a widget in the
    cell, which needs the extra ``notebook``. Elsewhere the pages are served to a browser.

    Parameters
    ----------
    X : array-like of shape (n, d), or a map, optional
        Rows to show. With more than two columns, on a plane of the metric through them. A map is
        what :func:`cayleyklein.map_embedding` or :func:`cayleyklein.embed_tree` return, a fitted
        :class:`cayleyklein.CurvedMDS` of two components or a
        :class:`cayleyklein.plotting.MapDisplay`, with names, edges and classes, or the path of
        a file: a tree in Newick format (.nwk), or a table with an embedding,
        with the columns "class" and "name" if it has these. It is shown with its edges, to be
        moved by isometries, in a cell or on the page that is served.
    metric : CurvedMetric, optional
        Metric of the rows, such as ``model.metric_``; Euclidean by default.
    labels : array-like of shape (n,), optional
        Classes of the rows, up to 20.
    height : int, default=760
        Height of the cell in pixels.
    port : int, default=5006
        Port to listen on; 0 takes a free one. A port in use raises an error.
    host : str, default="127.0.0.1"
        Address to listen on. The default serves this computer only; ``"0.0.0.0"`` serves every
        network it is on, with a warning that anybody who reaches the port may use the page.
    browser : bool, default=True
        Whether to open the page in a browser.
    on_start : callable, optional
        Called with the page's address once it is served; with ``"0.0.0.0"``, with each address that
        works.
    worksheets : str or Path, optional
        A worksheet (.md), a folder of them, or the address of one (http:// or https://), which the
        page offers beside its own; "?sheet=NAME" in the address opens one.
    chart : str, default="poincare"
        Chart of the embedding in a table, as for :func:`cayleyklein.map_embedding`. Its curvature
        is taken as -1, or 1 on a sphere.

    Returns
    -------
    PlaneWidget or None
        In a notebook. Its attributes `points`, `labels` and `metric` are what was dragged, in the
        coordinates of X, `metric` in those of the plane shown.

    Examples
    --------
    >>> from cayleyklein.app import explore
    >>> explore(port=0, on_start=print)  # doctest: +SKIP
    http://localhost:41673/
    """
    require("tornado", "app")
    from cayleyklein.app import _maps

    if isinstance(X, str | Path):
        X = _maps.read_map(X, chart)
    is_map = isinstance(X, _maps.MAPS)
    if _in_notebook() or (X is not None and not is_map):
        from cayleyklein.app._cell import make_widget

        return make_widget(X, metric, labels, height)
    expect(port in range(65536), "port", port, "a whole number from 0 to 65535")
    as_text(host, "host")
    expect(on_start is None or callable(on_start), "on_start", on_start, "a function, or None")
    from cayleyklein.app._server import serve

    sheets = {} if worksheets is None else read_worksheets(worksheets)
    path = ""
    if is_map:
        expect(metric is None, "metric", metric, "None: a map has its own")
        sheets = sheets | {"map": _maps.map_sheet(_maps.map_state(X, labels))}
        path = "?sheet=map"
    tell = on_start or (lambda address: None)
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(int(port), host, browser, tell, sheets, path))
    return None


def _in_notebook() -> bool:
    """Say whether this is a cell of Jupyter, Colab or VS Code, or of marimo."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    marimo = sys.modules.get("marimo")
    return hasattr(shell, "kernel") or bool(marimo and marimo.running_in_notebook())
