"""A served explorer and a headless Chromium, for the tests, the screenshots and the benchmark."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = os.environ.get("CHROMIUM", shutil.which("chromium") or "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SERVE = (
    "from cayleyklein.app import explore\n"
    "explore(port={port}, browser=False, on_start=lambda address: print(address, flush=True))"
)


def missing():
    """Say what is missing for a test in a browser, or None."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return None if Path(CHROMIUM).exists() else f"there is no Chromium at {CHROMIUM}"


def reason_to_skip():
    """Return what is missing; where REQUIRE_BROWSER is set, that is an error instead."""
    reason = missing()
    if reason and os.environ.get("REQUIRE_BROWSER"):
        raise RuntimeError(f"The tests in a browser have to run here, but {reason}.")
    return reason


@contextmanager
def served(log=None, port=0):
    """Serve the explorer, on a free port for 0, and give its address; errors go to a file."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE.format(port=port)],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        address = process.stdout.readline().strip().rstrip("/")
        assert address.startswith("http://"), "the server did not start"
        yield address
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


@contextmanager
def browser(**options):
    """Open a browser with nothing in its profile, and give its context."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as profile, sync_playwright() as driver:
        options = {"viewport": {"width": 1280, "height": 800}} | options
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=FLAGS, accept_downloads=True, **options
        )
        try:
            yield context
        finally:
            context.close()


def open_page(context, address):
    """Open a page and wait until it hears the server."""
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return visit(page, address)


def visit(page, address):
    """Go to an address and wait until the page hears the server."""
    page.complaints.clear()
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]")
    settle(page)
    return page


def settle(page):
    """Wait until the server has answered everything."""
    # what the pointer did arrives with the next frame
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_function("() => explorer.idle()")


def keep_address(page):
    """Wait until the address is that of the picture, which is put off while things move."""
    settle(page)
    page.wait_for_function("() => explorer.settled()")


def points(page, view=0):
    """Return the places of the points in a view."""
    flat = page.evaluate("i => Array.from(explorer.views[i].points)", view)
    return list(zip(flat[::2], flat[1::2], strict=True))


def shapes(page, view=0):
    """Return the shapes of a view as text, to see whether they have changed."""
    return page.evaluate(
        "i => JSON.stringify(explorer.views[i].shapes.map(s => [s.kind, s.color, [...s.xy]]))", view
    )


def window(page, view=0):
    """Return the box that a view shows."""
    return page.evaluate("i => explorer.views[i].box", view)


def pixel(page, x, y, view=0):
    """Return where a place of a view is in the window."""
    return page.evaluate(
        """([x, y, i]) => {
          const view = explorer.views[i], box = view.host.getBoundingClientRect();
          const [px, py] = view.toPixel(x, y);
          return [box.left + view.host.clientLeft + px, box.top + view.host.clientTop + py];
        }""",
        [x, y, view],
    )


def drag(page, start, end, steps=4):
    """Drag with the mouse."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()
    settle(page)
