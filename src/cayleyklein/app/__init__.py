"""The explorer: a page where the geometry moves (the extra ``app``).

``cayleyklein explore`` starts it, or :func:`explore`. The pages are drawn with Bokeh, and
everything on them is computed by the library: the browser's script carries messages only.
"""

from __future__ import annotations

import operator
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from cayleyklein._validation import as_callback, as_text, require
from cayleyklein.exceptions import InvalidInputError

__all__ = ["explore"]

LARGEST_PORT = 65535


def explore(
    port: int = 5006,
    host: str = "127.0.0.1",
    *,
    browser: bool = True,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve the explorer until interrupted.

    Parameters
    ----------
    port : int, default=5006
        0 takes a free one.
    host : str, default="127.0.0.1"
        The address to listen on. The default is this computer only; ``"0.0.0.0"`` is every network
        it is on, where anybody who reaches the port may use the page.
    browser : bool, default=True
        Whether to open the page in a browser.
    on_start : callable, optional
        Told the page's address once it is served.

    Raises
    ------
    MissingExtraError
        When Bokeh is not installed.
    InvalidInputError
        When the port is taken or the address cannot be listened on.

    Examples
    --------
    It returns only when it is interrupted:

    >>> from cayleyklein.app import explore
    >>> explore(port=0, on_start=print)  # doctest: +SKIP
    http://localhost:41673/
    """
    require("bokeh", "app")
    try:
        number = operator.index(port)
    except TypeError:
        number = -1
    if not 0 <= number <= LARGEST_PORT:
        raise InvalidInputError(
            f"Got port={port!r}, but expected a whole number from 0 to {LARGEST_PORT}."
        )
    as_text(host, "host")
    as_callback(on_start, "on_start")
    from cayleyklein.app._server import make_server
    from cayleyklein.app._worker import warm_up

    if ":" in host and host not in ("::", "::1"):
        raise InvalidInputError(
            f"Got host={host!r}: a single IPv6 address other than ::1 cannot be served, because "
            f"its pages' origin cannot be checked. Give :: for all addresses, or a name."
        )
    try:
        server = make_server(port, host)
    except OSError as error:
        raise InvalidInputError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Give another port, "
            f"or port 0 for any that is free."
        ) from error
    shown = "localhost" if host in ("127.0.0.1", "0.0.0.0", "") or ":" in host else host
    address = f"http://{shown}:{server.port}/"
    server.start()
    warm_up()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread:
        # so that a polite end leaves nothing behind, as Ctrl+C does
        before = signal.signal(
            signal.SIGTERM, lambda *_: server.io_loop.add_callback_from_signal(server.io_loop.stop)
        )
    try:
        if on_start is not None:
            on_start(address)
        if browser:
            server.io_loop.add_callback(server.show, "/")
        with suppress(KeyboardInterrupt):
            server.io_loop.start()
    finally:
        server.stop()
        if in_main_thread:
            signal.signal(signal.SIGTERM, before)
