"""The server: two pages, their sockets, the exports, and who may connect."""

import asyncio
import inspect
import json
import multiprocessing
import signal
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

import cayleyklein
from cayleyklein import geometry
from cayleyklein.app import _pages, _worksheets
from cayleyklein.app._exports import EXPORTS
from cayleyklein.app._fitting import News
from cayleyklein.app._learn import LearnSession, run_apart, start_apart
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._messages import pack_message
from cayleyklein.app._pages import TOUR
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import PlaneState
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

LOOPBACK = "127.0.0.1"
ANYWHERE = ("", "0.0.0.0", "::")
HERE = Path(__file__).parent
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self' ws://{host}; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}


class Explorer:
    def __init__(
        self,
        port: int = 0,
        host: str = LOOPBACK,
        sheets: dict[str, _worksheets.Worksheet] | None = None,
    ) -> None:
        self.sheets = _worksheets.bundled_worksheets() | (sheets or {})
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=128)
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])
        self.hosts = {f"{name}:{self.port}" for name in known_names(host)}
        self.examples: dict[str, list[News]] = {}  # fits of the package's own tables
        self.slots = threading.Semaphore(LIMITS.fits)
        self.pool = ThreadPoolExecutor(LIMITS.command_threads, thread_name_prefix="explorer")
        # files are made one after the other, so that dragging stays fast
        self.exporter = ThreadPoolExecutor(1, thread_name_prefix="exports")
        routes: list[Any] = [
            (r"/(?:learn)?", PageHandler),
            (r"/ws/(?:plane|learn)", Socket),
            (r"/export/([a-z.]+)", ExportHandler),
            (r"/reference/(.*)", ReferenceHandler),
            (r"/palette.css", PaletteHandler),
            (r"/assets/(.*)", AssetHandler, {"path": str(HERE / "static")}),
        ]
        application = Application(
            routes,
            default_handler_class=Guarded,
            explorer=self,
            compress_response=True,
            template_path=str(HERE / "templates"),
            websocket_max_message_size=LIMITS.message_bytes,
            log_function=lambda handler: None,
        )
        self._server = HTTPServer(
            application,
            max_header_size=LIMITS.header_bytes,
            max_body_size=0,
            idle_connection_timeout=LIMITS.request_seconds,
        )
        self._server.add_sockets([self._socket])

    async def stop(self) -> None:
        self._server.stop()
        await self._server.close_all_connections()
        for pool in (self.pool, self.exporter):
            pool.shutdown(wait=False, cancel_futures=True)


async def serve(
    port: int,
    host: str,
    browser: bool,
    tell: Callable[[str], None],
    sheets: dict[str, _worksheets.Worksheet] | None = None,
    path: str = "",
) -> None:
    try:
        server = Explorer(port, host, sheets)
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
        addresses = [f"http://{name}:{server.port}/{path}" for name in page_names(host)]
        if host in ANYWHERE:
            said = f"Whoever reaches port {server.port} of this computer can use the page."
            warnings.warn(said, stacklevel=2)
        for address in addresses:
            tell(address)
        if browser:
            webbrowser.open(addresses[0])
        # a first process does nothing: the one that fits are forked from imports the library
        await asyncio.to_thread(start_apart, repr)
        await ended.wait()
    finally:
        await server.stop()


def page_names(host: str) -> list[str]:
    """Return the names that visitors are told; finding the network address sends nothing."""
    if host == LOOPBACK:
        return ["localhost"]
    if host not in ANYWHERE:
        return [f"[{host}]" if ":" in host else host.lower()]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # an address reserved for documentation: nobody is there
        return ["localhost", str(probe.getsockname()[0])]
    return ["localhost"]


def known_names(host: str) -> set[str]:
    names = {LOOPBACK, "localhost", *page_names(host)}
    if ":" in host:
        names.add("[::1]")
    if host in ANYWHERE:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        with suppress(OSError):  # a computer that does not know its own address
            names |= set(socket.gethostbyname_ex(socket.gethostname())[2])
    return names


class Guarded(RequestHandler):
    """A request; it is answered only if it uses a name of this server."""

    @property
    def explorer(self) -> Explorer:
        return cast(Explorer, self.settings["explorer"])

    def set_default_headers(self) -> None:
        host = self.request.host.lower()
        for name, value in HEADERS.items():
            self.set_header(name, value.format(host=host if host.isascii() else ""))

    def prepare(self) -> None:
        """Refuse foreign names, which other sites could point here, and long addresses."""
        if self.request.host.lower() not in self.explorer.hosts:
            raise HTTPError(403, reason="Not under this name")
        if type(self) is Guarded or "\0" in unquote(self.request.path):
            raise HTTPError(404)
        if len(self.request.uri or "") > LIMITS.address_bytes:
            raise HTTPError(414, reason="The address is too long")


class ReferenceHandler(Guarded):
    def get(self, name: str) -> None:
        if name not in {step["reference"] for step in TOUR}:
            raise HTTPError(404)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        thing = attrgetter(name)(geometry if hasattr(geometry, name) else cayleyklein)
        self.write(f"{name}\n\n{inspect.getdoc(thing)}\n")

    head = get  # the server leaves out what follows the headers


class PaletteHandler(Guarded):
    """The colours of the pictures, as variables of styles."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.write(_pages.palette_css())

    head = get


class PageHandler(Guarded):
    def get(self) -> None:
        page = "learn" if self.request.path == "/learn" else "plane"
        first = page == "plane" and not self.request.query
        self.render(f"{page}.html", **_pages.page_values(page, self.explorer.sheets, first=first))

    head = get


class AssetHandler(Guarded, StaticFileHandler):
    """The scripts and styles."""


class ExportHandler(Guarded):
    async def get(self, name: str) -> None:
        if name not in EXPORTS:
            raise HTTPError(404)
        kind, make = EXPORTS[name]
        theme = "dark" if self.get_query_argument("theme", "") == "dark" else "light"
        try:
            state = PlaneState.from_query(self.request.query)
            work = self.explorer.exporter.submit(
                run_apart, LIMITS.answer_seconds, make, state, theme
            )
            text = await asyncio.wait_for(asyncio.wrap_future(work), LIMITS.queue_seconds)
        except CayleyKleinError as error:
            raise HTTPError(400, reason="The address was not understood") from error
        except (TimeoutError, multiprocessing.TimeoutError) as error:
            raise HTTPError(503, reason="This takes too long; show less") from error
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.write(text)

    head = get


class Socket(Guarded, WebSocketHandler):
    session: PlaneSession | LearnSession | None = None
    _ticking: asyncio.Task[None] | None = None

    def check_origin(self, origin: str) -> bool:
        return urlsplit(origin).netloc.lower() in self.explorer.hosts

    async def on_message(self, message: str | bytes) -> None:
        number: Any = None
        try:
            number, given = _read_message(message)
            if self.session is None:
                query = str(given).lstrip("?")
                given = []
                if self.request.path == "/ws/plane":
                    self.session = PlaneSession(query, self.explorer.sheets)
                else:
                    self.session = LearnSession(query, self.explorer.slots, self.explorer.examples)
                    self._ticking = asyncio.create_task(self._tick(self.session))
            given = given if isinstance(given, list) else [given]
            work = self.explorer.pool.submit(self.session.hear, given)
            answer = await asyncio.wait_for(asyncio.wrap_future(work), LIMITS.answer_seconds)
        except InvalidInputError as error:
            answer = {"errors": [str(error)]}
        except TimeoutError:
            self.close(1011, "This took too long; show less")
            return
        await self._send(answer | {"number": number})

    async def _tick(self, session: LearnSession) -> None:
        while True:
            await asyncio.sleep(0.1)
            if (news := session.poll()) is not None:
                await self._send(news)

    async def _send(self, answer: dict[str, Any]) -> None:
        with suppress(WebSocketClosedError):  # the visitor has left
            await self.write_message(pack_message(answer), binary=True)

    def on_close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        if isinstance(self.session, LearnSession):
            self.session.close()


def _read_message(message: str | bytes) -> tuple[int, Any]:
    try:
        found = json.loads(message)
        return int(found["number"]), found["commands"]
    except (TypeError, ValueError, KeyError, RecursionError, OverflowError) as error:
        raise InvalidInputError("A message to the server was not understood.") from error
