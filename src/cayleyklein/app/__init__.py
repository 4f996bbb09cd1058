"""The explorer: a page where the geometry moves (the extra ``app``).

``cayleyklein explore`` starts it, or :func:`explore`. Everything on the page is computed by the
library; the browser draws what it is sent. :func:`draw_plane` draws the same pictures without it.
"""

import asyncio
import signal
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress

from cayleyklein._validation import as_text, expect, require
from cayleyklein.app._exports import draw_plane
from cayleyklein.exceptions import InvalidInputError

__all__ = ["draw_plane", "explore"]


def explore(
    port: int = 5006, host: str = "127.0.0.1", *, browser: bool = True,
    on_start: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve the explorer until interrupted.

    Parameters
    ----------
    port : int, default=5006
        0 takes a free one; one that is taken raises an error.
    host : str, default="127.0.0.1"
        Address to listen on: this computer only, or ``"0.0.0.0"`` for every network it is on, where
        anybody who reaches the port may use the page, as a warning says.
    browser : bool, default=True
        Whether to open the page in a browser.
    on_start : callable, optional
        Called with the page's address once it is served; for a host that is every network, with
        each address that works.

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
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(int(port), host, browser, on_start or (lambda address: None)))


async def _serve(port: int, host: str, browser: bool, tell: Callable[[str], None]) -> None:
    from cayleyklein.app._learn import start_apart
    from cayleyklein.app._server import ANYWHERE, Explorer, page_names

    try:
        server = Explorer(port, host)
    except OSError as error:
        said = f"Cannot listen on host {host}, port {port}: {error.strerror or error}."
        advice = "Give another host or port; port 0 is any that is free."
        raise InvalidInputError(f"{said} {advice}") from error
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # signals reach the main thread only, and Windows has no such handlers
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, ended.set)
    try:
        addresses = [f"http://{name}:{server.port}/" for name in page_names(host)]
        if host in ANYWHERE:
            said = f"Whoever reaches port {server.port} of this computer can use the page."
            warnings.warn(said, stacklevel=2)
        for address in addresses:
            tell(address)
        if browser:
            webbrowser.open(addresses[0])
        # the process that fits are forked from imports the library; this one does nothing
        await asyncio.to_thread(start_apart, repr)
        await ended.wait()
    finally:
        await server.stop()
