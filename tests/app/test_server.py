"""The server: loopback, origins, exports and errors, over plain HTTP."""

import http.client
import re
import urllib.error
import urllib.parse
import urllib.request

import pytest
from tests.app.browser import served

pytest.importorskip("bokeh")

from cayleyklein.app import explore
from cayleyklein.app._server import known_names, make_server
from cayleyklein.app._state import PlaneState, scatter
from cayleyklein.exceptions import InvalidInputError, MissingExtraError


@pytest.fixture(scope="module")
def address():
    with served() as at:
        yield at


def get(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.headers, answer.read().decode()


@pytest.mark.parametrize("path", ["/", "/learn"])
def test_pages_come_with_all_they_need(address, path):
    status, _, page = get(address + path)
    assert status == 200
    assert '<html lang="en">' in page
    for source in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert not source.startswith(("http:", "https:", "//")) or source.startswith(address)
    assert get(f"{address}/assets/explorer.js")[0] == 200


@pytest.mark.parametrize("name", ["plane.svg", "plane.html", "plane.py", "points.csv"])
def test_exports(address, name):
    query = PlaneState(points=scatter(4, seed=0)).to_query()
    status, headers, text = get(f"{address}/export/{name}?{query}")
    assert status == 200
    assert name in headers["Content-Disposition"]
    assert text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/export/passwd", 404),
        ("/export/plane.svg?curvature=9", 400),
        ("/assets/../_server.py", 403),
        ("/assets/%2e%2e/_server.py", 403),
    ],
)
def test_what_is_not_there_is_refused(address, path, status):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address + path)
    assert caught.value.code == status
    caught.value.close()


def upgrade(address, origin):
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Origin": origin,
    }
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=30)
    try:
        connection.request("GET", "/ws", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_other_origins_may_not_connect(address):
    assert upgrade(address, "http://evil.example") == 403
    assert upgrade(address, address) == 101


def test_it_listens_on_the_loopback_only():
    server = make_server()
    try:
        listening = {s.getsockname()[0] for s in server._http._sockets.values()}
        assert listening == {"127.0.0.1"}
    finally:
        server.stop()


def test_names_of_a_server():
    assert known_names("127.0.0.1") == ["127.0.0.1", "localhost"]
    assert "my.machine" in known_names("my.machine")
    assert "0.0.0.0" not in known_names("0.0.0.0")


def test_a_page_under_an_ipv6_address():
    assert known_names("::1") == ["127.0.0.1", "localhost"]
    with pytest.raises(InvalidInputError, match="origin cannot be checked"):
        explore(0, "2001:db8::1", browser=False)


def test_a_taken_port_is_said(address):
    port = urllib.parse.urlsplit(address).port
    with pytest.raises(InvalidInputError, match=f"port {port}"):
        explore(port, browser=False)


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bokeh", None)
    with pytest.raises(MissingExtraError, match=r'pip install "cayleyklein\[app\]"'):
        explore(browser=False)
