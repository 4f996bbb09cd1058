"""A served explorer and a headless Chromium, for the tests and for the screenshots."""

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
    "explore(0, browser=False, on_start=lambda address: print(address, flush=True))"
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
def served():
    """Serve the explorer on a free port, and give its address."""
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
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
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]")
    settle(page)
    return page


def settle(page):
    """Wait until the server has answered everything."""
    # what the pointer did arrives with the next frame
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_function("explorer.idle()")


def keep_address(page):
    """Wait until the address is what the page shows, which is put off while things move."""
    settle(page)
    page.wait_for_function("explorer.kept()")


def data(page, source):
    """Return the columns of a source of the page, as lists."""
    return page.evaluate(
        """name => {
          const model = Bokeh.documents[0].get_model_by_name(name);
          const plain = v => v === null || typeof v !== "object" ? v : Array.from(v, plain);
          return Object.fromEntries(Object.entries(model.data).map(([k, v]) => [k, plain(v)]));
        }""",
        source,
    )


def pixel(page, x, y):
    """Return where a place of the plot is in the window."""
    return page.evaluate(
        """([x, y]) => {
          const plot = Bokeh.documents[0].get_model_by_name("plot");
          const box = document.querySelector("#canvas").getBoundingClientRect();
          const part = (v, range) => (v - range.start) / (range.end - range.start);
          return [box.left + part(x, plot.x_range) * box.width,
                  box.bottom - part(y, plot.y_range) * box.height];
        }""",
        [x, y],
    )
