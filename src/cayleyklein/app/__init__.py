"""The explorer: a web page to play with the geometries (the extra ``app``).

``cayleyklein explore`` starts it, or :func:`explore`. The library computes
everything; the browser only draws it. :func:`draw_plane` draws the same pictures without it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cayleyklein._validation import as_text, expect, require
from cayleyklein.app._exports import draw_plane
from cayleyklein.app._worksheets import read_folder

__all__ = ["draw_plane", "explore"]


def explore(
    port: int = 5006,
    host: str = "127.0.0.1",
    *,
    browser: bool = True,
    on_start: Callable[[str], None] | None = None,
    worksheets: str | Path | None = None,
) -> None:
    """Serve the explorer until interrupted.

    Parameters
    ----------
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
        A worksheet (.md) or a folder of them, which the page offers beside its own; "?sheet=NAME"
        in the address opens one.

    Examples
    --------
    >>> from cayleyklein.app import explore
    >>> explore(port=0, on_start=print)  # doctest: +SKIP
    http://localhost:41673/
    """
    require("tornado", "app")
    expect(port in range(65536), "port", port, "a whole number from 0 to 65535")
    as_text(host, "host")
    expect(on_start is None or callable(on_start), "on_start", on_start, "a function, or None")
    from cayleyklein.app._server import serve

    sheets = {} if worksheets is None else read_folder(Path(worksheets))
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(int(port), host, browser, on_start or (lambda address: None), sheets))
