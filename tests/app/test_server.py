"""The server: names, origins, headers, exports and errors, over plain HTTP."""

import asyncio
import gzip
import http.client
import json
import multiprocessing
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tornado")

from tornado.websocket import websocket_connect

from cayleyklein.app import _server, explore
from cayleyklein.app._learn import LearnSession, run_apart
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._scene import handle_places
from cayleyklein.app._server import (
    HEADERS,
    TOUR,
    Explorer,
    known_names,
    pack_message,
    page_names,
)
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import PlaneState, scatter
from cayleyklein.app._views import View
from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import InvalidInputError, MissingExtraError
from cayleyklein.learning import CurvedLMNN
from cayleyklein.plotting.outlines import line_path


def get(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.headers, answer.read()


def refused(url, **headers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(url, **headers)
    caught.value.close()
    assert set(HEADERS) <= set(caught.value.headers)
    return caught.value.code


@pytest.mark.parametrize("path", ["/", "/learn"])
def test_a_first_load_is_small_and_local(address, path):
    _, headers, page = get(address + path, **{"Accept-Encoding": "gzip"})
    total, text = len(page), gzip.decompress(page).decode()
    assert '<html lang="en">' in text
    assets = re.findall(r'(?:src|href)="(/assets/[^"#]+)"', text)
    assert len(assets) == (5 if path == "/" else 3)
    for asset in assets:
        total += len(get(address + asset, **{"Accept-Encoding": "gzip"})[2])
    assert total < 60_000
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    for name in ("frame-ancestors 'none'", "script-src 'self'", "default-src 'none'"):
        assert name in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["plane.svg", "plane.html", "plane.py", "points.csv"])
def test_exports(address, name):
    query = PlaneState(points=scatter(4, seed=0)).query
    status, headers, text = get(f"{address}/export/{name}?{query}")
    assert status == 200
    assert name in headers["Content-Disposition"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert text


def test_the_tour_sets_scenes_and_links_to_pages_that_are_there(address):
    assert len(TOUR) == 8
    for step in TOUR:
        for query in (step["scene"], f"{step['scene']}&{step.get('after', '')}"):
            assert PlaneState.from_query(query).points
        text = get(f"{address}/reference/{step['reference']}")[2].decode()
        assert text.startswith(step["reference"])
        assert len(text) > 90


def test_the_scenes_of_the_tour_show_what_it_says():
    first = PlaneState.from_query(TOUR[0]["scene"])  # no point lies on a handle
    gaps = handle_places(first)[:, None] - first.coordinates
    assert np.linalg.norm(gaps, axis=-1).min() > 0.15
    pair = PlaneState.from_query(TOUR[4]["scene"])  # the bisector is bent in Poincaré's view
    line = line_path(pair.metric, pair.metric.bisector(*pair.coordinates), 65)
    bent = View(pair.metric, "poincare").to_screen(line)
    start, end = bent[0], bent[-1]
    along = (end - start) / np.linalg.norm(end - start)
    rise = np.abs((bent - start) @ [-along[1], along[0]]).max()
    assert rise > 0.05 * np.linalg.norm(end - start)


def test_the_learned_metric_of_the_tour_is_what_is_learned():
    wine = load_wine()
    X = wine.data[:, [6, 9]]
    learned = CurvedLMNN(geometry="learned", random_state=0).fit(X, wine.target).metric_
    state, exact = PlaneState.of_rows(learned, X, wine.target)
    shown = PlaneState.from_query(f"{TOUR[7]['scene']}&{TOUR[7]['after']}")
    assert exact
    assert shown.coordinates == pytest.approx(state.coordinates, abs=1e-4)
    for name in ("curvature", "center_x", "center_y", "major", "minor"):
        assert getattr(shown, name) == pytest.approx(getattr(state, name), abs=0.15), name


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/export/passwd", 404),
        ("/export/plane.svg?curvature=9", 400),
        ("/assets/../_server.py", 403),
        ("/assets/%2e%2e/_server.py", 403),
        ("/assets/nothing.js", 404),
        ("/reference/os", 404),
        ("/nothing", 404),
        ("/assets/%00", 404),
        ("/export/%00", 404),
        ("/export/plane.svg?points=" + "0,0,0;" * 3_000, 400),
        ("/export/plane.svg?points=" + "0,0,0;" * 30_000, 414),
    ],
)
def test_what_is_not_there_is_refused(address, path, status):
    assert refused(address + path) == status


def test_a_body_is_refused_before_it_is_read(address):
    where = urllib.parse.urlsplit(address)
    for more in ("Content-Length: 95000000", "Transfer-Encoding: chunked"):
        with socket.create_connection((where.hostname, where.port), timeout=10) as raw:
            head = f"POST /learn HTTP/1.1\r\nHost: {where.netloc}\r\n{more}\r\n\r\n"
            raw.sendall(head.encode() + (b"5\r\nhello\r\n" if "chunked" in more else b""))
            assert b"400" in raw.recv(200)
            assert raw.recv(200) == b""


def test_head_has_the_headers_of_get(address):
    for path in ("/", "/learn", "/assets/explorer.css", "/export/points.csv", "/reference/Ball"):
        request = urllib.request.Request(address + path, method="HEAD")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
            assert answer.read() == b""
            assert set(HEADERS) <= set(answer.headers)


def test_half_sent_requests_are_dropped(monkeypatch):
    monkeypatch.setattr(_server, "LIMITS", replace(LIMITS, request_seconds=0.2))

    async def wait():
        server = Explorer()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        found = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        await server.stop()
        return found

    assert asyncio.run(wait()) == b""


def test_heavy_exports_delay_nobody(address):
    heavy = PlaneState(points=scatter(LIMITS.most_points, seed=0), order=3).query
    done = threading.Event()

    def export():
        get(f"{address}/export/plane.svg?{heavy}")
        done.set()

    async def step():
        one = await websocket_connect(f"{address.replace('http', 'ws')}/ws/plane")
        for number in range(4):
            commands = [] if number else ""
            await one.write_message(json.dumps({"number": number, "commands": commands}))
            await one.read_message()
        await leave(one)

    thread = threading.Thread(target=export)
    thread.start()
    asyncio.run(step())
    assert not done.is_set()
    thread.join()
    assert done.is_set()


def test_an_export_that_takes_too_long_is_ended():
    with pytest.raises(multiprocessing.TimeoutError):
        run_apart(0.05, time.sleep, 20)
    with pytest.raises(InvalidInputError, match="curvature"):
        run_apart(60, PlaneState.from_query, "curvature=9")


def test_an_address_of_the_most_points_is_answered(address):
    query = PlaneState(points=scatter(LIMITS.most_points, seed=0)).query
    assert len(query) > 30_000
    assert get(f"{address}/export/points.csv?{query}")[0] == 200
    assert get(f"{address}/?{'x' * 70_000}")[0] == 200


def test_other_names_are_refused(address):
    port = urllib.parse.urlsplit(address).port
    for host in ("evil.example", f"evil.example:{port}", "localhost:1"):
        for path in ("/", "/nothing", "/assets/nothing.js"):
            assert refused(address + path, Host=host) == 403
    assert get(address, Host=f"127.0.0.1:{port}")[0] == 200


def upgrade(address, origin):
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Origin": origin,
    }
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=30)
    with closing(connection):
        connection.request("GET", "/ws/plane", headers=headers)
        with connection.getresponse() as answer:
            return answer.status


def test_other_origins_may_not_connect(address):
    assert upgrade(address, "http://evil.example") == 403
    assert upgrade(address, address) == 101


async def leave(one):
    """Close a socket and wait until it is."""
    one.close()
    while await one.read_message() is not None:
        pass


MESSAGES = [
    "nonsense",
    "5",
    '{"number": 1}',
    '{"number": "x", "commands": []}',
    '{"number": 1, "commands": 7}',
    '{"number": 1, "commands": [null]}',
    '{"number": 1, "commands": [{"do": "choose", "name": [], "value": {}}]}',
    f'{{"number": 1, "commands": [{{"do": "label", "value": {10**400}}}]}}',
    '{"number": 1, "commands": [{"do": "hover", "x": NaN, "y": Infinity}]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("page", ["plane", "learn"])
def test_whatever_is_sent_is_answered(address, page):
    async def talk():
        socket = await websocket_connect(f"{address.replace('http', 'ws')}/ws/{page}")
        answers = []
        for message in ['{"number": 0, "commands": "?data=wine"}', *MESSAGES]:
            await socket.write_message(message)
            raw = await asyncio.wait_for(socket.read_message(), 20)
            length = int.from_bytes(raw[:4], "little")
            answers.append(json.loads(raw[4 : 4 + length]))
        await leave(socket)
        return answers

    first, *rest = asyncio.run(talk())
    assert first["query"]
    for answer in rest:
        assert answer.get("errors") or answer.get("notes")


def test_a_slow_scatter_holds_up_nobody(address):
    async def talk():
        at = f"{address.replace('http', 'ws')}/ws/plane"
        slow, quick = await websocket_connect(at), await websocket_connect(at)
        for one in (slow, quick):
            await one.write_message('{"number": 0, "commands": ""}')
            await one.read_message()
        # a random seed arrives as a float
        command = {"do": "scatter", "n": 2000.0, "seed": 2147483645.0}
        more = {"do": "set", "values": {"order": 5}}
        await slow.write_message(json.dumps({"number": 1, "commands": [command, more]}))
        await quick.write_message('{"number": 1, "commands": [{"do": "next", "by": 1}]}')
        answers = [asyncio.ensure_future(one.read_message()) for one in (slow, quick)]
        first, _ = await asyncio.wait(answers, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        assert await answers[0]
        await leave(slow)
        await leave(quick)
        return answers[1] in first

    assert asyncio.run(talk())


def test_visitors_who_leave_early_leave_no_traces(address, server_log):
    where, before = urllib.parse.urlsplit(address), server_log.read_text()
    for path in ("/", f"/export/plane.html?{PlaneState(points=scatter(50, 0)).query}"):
        with socket.create_connection((where.hostname, where.port)) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())

    async def come_and_go():
        for page in ("plane", "learn"):
            one = await websocket_connect(f"{address.replace('http', 'ws')}/ws/{page}")
            await one.write_message('{"number": 0, "commands": ""}')
            await one.write_message('{"number": 1, "commands": [{"do": "fit"}]}')
            one.protocol.stream.close()
            one.close()
            await asyncio.sleep(0.1)

    asyncio.run(come_and_go())
    get(address)
    time.sleep(1.0)
    assert server_log.read_text() == before


def test_arrays_are_packed():
    raw = pack_message({"a": np.arange(3.0), "b": np.array([1, -1]), "c": np.float64(2)})
    length = int.from_bytes(raw[:4], "little")
    found = json.loads(raw[4 : 4 + length])
    assert length % 4 == 0
    assert found == {
        "a": {"$": "f", "at": 0, "n": 3},
        "b": {"$": "i", "at": 12, "n": 2},
        "c": 2.0,
    }
    assert np.frombuffer(raw, np.float32, 3, 4 + length).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "session", [PlaneSession, lambda query: LearnSession(query, threading.Semaphore(1))]
)
def test_answers_can_be_packed(session):
    assert pack_message(session("points=nonsense&data=moon").hear([]))


def test_it_listens_on_the_loopback_only():
    async def look():
        server = Explorer()
        try:
            return {server._socket.getsockname()[0]}
        finally:
            await server.stop()

    assert asyncio.run(look()) == {"127.0.0.1"}


def test_names_of_a_server():
    assert known_names("127.0.0.1") == {"127.0.0.1", "localhost"}
    assert "my.machine" in known_names("my.machine")
    assert "0.0.0.0" not in known_names("0.0.0.0")
    assert "[2001:db8::1]" in known_names("2001:db8::1")


def test_a_page_for_every_network_says_so():
    assert page_names("127.0.0.1") == ["localhost"]
    assert page_names("::1") == ["[::1]"]
    assert page_names("0.0.0.0")[0] == "localhost"
    assert set(page_names("0.0.0.0")) <= known_names("0.0.0.0")
    with pytest.warns(UserWarning, match="can use the page"), pytest.raises(ZeroDivisionError):
        explore(port=0, host="0.0.0.0", browser=False, on_start=lambda address: 1 / 0)


def test_a_taken_port_is_said(address):
    port = urllib.parse.urlsplit(address).port
    with pytest.raises(InvalidInputError, match=f"port {port}"):
        explore(port=port, browser=False)


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tornado", None)
    with pytest.raises(MissingExtraError, match=r'pip install "cayleyklein\[app\]"'):
        explore(browser=False)
