"""The server: two pages, the exports, and who may connect."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bokeh.application import Application
from bokeh.application.handlers import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import Server
from tornado.web import HTTPError, RequestHandler, StaticFileHandler

from cayleyklein.app._code import plane_code, points_csv
from cayleyklein.app._learn import LearnPage
from cayleyklein.app._offline import offline_page
from cayleyklein.app._pages import STATIC
from cayleyklein.app._plane import PlanePage
from cayleyklein.app._scene import make_scene
from cayleyklein.app._state import PlaneState
from cayleyklein.app._svg import svg
from cayleyklein.app._tables import MOST_BYTES
from cayleyklein.app._theme import THEMES
from cayleyklein.app._worker import FitSlots
from cayleyklein.exceptions import CayleyKleinError

if TYPE_CHECKING:
    from tornado.ioloop import IOLoop

__all__ = ["LOOPBACK", "make_server"]

LOOPBACK = "127.0.0.1"
ANYWHERE = ("", "0.0.0.0", "::")

LEFT_FOR, LOOK_EVERY = 10_000, 3_000
"""Milliseconds for which a page that was left is kept, and between two looks for such pages."""

MESSAGE_BYTES = 4 * MOST_BYTES
"""Most bytes of a message: an upload as JSON, where a character may take several."""

EXPORTS: dict[str, tuple[str, Callable[[PlaneState, str], str]]] = {
    "plane.svg": ("image/svg+xml", lambda state, theme: svg(state, make_scene(state), theme=theme)),
    "plane.html": ("text/html", lambda state, theme: offline_page(state, theme=theme)),
    "plane.py": ("text/x-python", lambda state, theme: plane_code(state)),
    "points.csv": ("text/csv", lambda state, theme: points_csv(state)),
}


def make_server(port: int = 0, host: str = LOOPBACK, *, io_loop: IOLoop | None = None) -> Server:
    """Return a server of the explorer that is not started yet.

    Parameters
    ----------
    port : int, default=0
        0 takes a free one.
    host : str, default="127.0.0.1"
        The address to listen on; the loopback is this computer only.
    io_loop : tornado IOLoop, optional
    """
    slots = FitSlots()

    def show_plane(document: Document) -> None:
        PlanePage(document, _parts(document))

    def show_learn(document: Document) -> None:
        LearnPage(document, _parts(document), slots)

    listener_port = _usable_port(host, port)
    return Server(
        {
            "/": Application(FunctionHandler(show_plane)),
            "/learn": Application(FunctionHandler(show_learn)),
        },
        address=host,
        port=listener_port,
        io_loop=io_loop,
        allow_websocket_origin=[f"{name}:{listener_port}" for name in known_names(host)],
        websocket_max_message_size=MESSAGE_BYTES,
        unused_session_lifetime_milliseconds=LEFT_FOR,
        check_unused_sessions_milliseconds=LOOK_EVERY,
        extra_patterns=[
            (r"/assets/(.*)", StaticFileHandler, {"path": str(STATIC)}),
            (r"/export/([a-z.]+)", ExportHandler),
        ],
        use_index=False,
    )


def known_names(host: str) -> list[str]:
    """Return the names under which a page of this server may call itself.

    >>> known_names("127.0.0.1")
    ['127.0.0.1', 'localhost']
    """
    names = {LOOPBACK, "localhost"}
    if host not in (LOOPBACK, "localhost", *ANYWHERE) and ":" not in host:
        names.add(host)  # a page of an IPv6 address is visited by a name: Bokeh knows no other
    if host in ANYWHERE:
        name = socket.gethostname()
        names |= {name, socket.getfqdn()}
        with suppress(OSError):  # a computer that does not know its own address
            names |= set(socket.gethostbyname_ex(name)[2])
    return sorted(names)


def _usable_port(host: str, port: int) -> int:
    """Return the port, or a free one for 0; an OSError says that it cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # as the server does: a port whose last connections are still closing is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def _parts(document: Document) -> dict[str, str]:
    """Return the query of the address that a document was asked by."""
    context: Any = document.session_context
    given: dict[str, list[bytes]] = context.request.arguments if context else {}
    return {name: values[-1].decode("utf-8", "replace") for name, values in given.items()}


class ExportHandler(RequestHandler):
    """Files made of a state in the address; nothing is kept."""

    async def get(self, name: str) -> None:
        """Answer with a file."""
        if name not in EXPORTS:
            raise HTTPError(404)
        kind, make = EXPORTS[name]
        parts = {key: self.get_query_argument(key) for key in self.request.query_arguments}
        theme = parts.get("theme", "light")
        try:
            state = PlaneState.from_query(parts)
        except CayleyKleinError as error:
            raise HTTPError(400, reason="The address was not understood") from error
        look = theme if theme in THEMES else "light"
        # off the loop: many frames take a while, and other visitors must not wait
        text = await asyncio.get_running_loop().run_in_executor(None, make, state, look)
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.set_header("X-Content-Type-Options", "nosniff")
        self.write(text)
