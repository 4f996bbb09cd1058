"""Time one step of a drag in the explorer, in a browser: from the pointer's event to the paint.

The goals are medians of 30 ms at 200 points and 80 ms at 1,000 points with the first layers, 80 ms
at 200 points of order 3 with all layers in two views, and 200 ms at 1,000 points of order 5, on a
quiet machine; 100 ms while six exports of 2,000 points of order 5 are made; a first load of at most
0.6 MB, compressed; and a server that is up within 3 s. With ``--server`` only the server's part of
a step is timed, for every layer, view and order. Beside the time of a step stands its CPU time, of
the server and of the browser's page, which another job on the machine hardly changes.
"""

import argparse
import os
import statistics
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.app.browser import browser, open_page, pixel, points, served, settle

from _timing import Sampler, describe_threads, interleave, timed
from cayleyklein.app._server import pack_message
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import CHART_NAMES, LAYERS, PlaneState, scatter

CASES = {  # parts of a state, and the goal in ms
    "28 points": ({"n": 28}, None),
    "200 points": ({"n": 200}, 30),
    "1,000 points": ({"n": 1000}, 80),
    "200 points on the hemisphere": ({"n": 200, "chart": "hemisphere"}, 30),
    "200 points, order 3, two views, all layers": (
        {"n": 200, "order": 3, "second": "hemisphere", "shown": frozenset(LAYERS)},
        80,
    ),
    "1,000 points, order 5": ({"n": 1000, "order": 5}, 200),
    "28 points and 20 figures": ({"n": 28, "objects": "figures"}, 30),
    "{7, 3} to depth 5, two views": ({"n": 3, "tiling": "7,3,5,0.7", "second": "poincare"}, 80),
}
STEPS = 30


def state_of(n: int, **parts: Any) -> PlaneState:
    """Return a state with scattered points; "figures" are circles and segments between them."""
    state = PlaneState(points=scatter(n, seed=0))
    if parts.get("objects"):
        points = ";".join(f"point,P{i},,ink,0,{i}" for i in range(11))
        made = (
            f"{kind},{kind[0]}{i},P{i}.P{i + 1},ink,0,0"
            for i in range(10)
            for kind in ("segment", "circle")
        )
        parts["objects"] = ";".join([points, *made])
    texts = {name: parts.pop(name) for name in ("objects", "tiling") if name in parts}
    return replace(state, **parts).with_parts(texts)


def drag(page) -> list[float]:
    """Drag the first point in a circle; return the milliseconds of each step."""
    x, y = pixel(page, *points(page)[0])
    page.evaluate("explorer.latencies.length = 0")
    page.mouse.move(x, y)
    page.mouse.down()
    for i in range(STEPS):
        page.mouse.move(x + 5 + i % 15, y + 5 + i % 11)
        settle(page)  # the next step begins when this one is painted
    page.mouse.up()
    settle(page)
    return page.evaluate("explorer.latencies")


def cpu_seconds() -> dict[str, float]:
    """Return the CPU time so far of the server and of the pages, among the children (Linux)."""
    children: dict[int, list[int]] = {}
    spent: dict[int, tuple[str, float]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parts = (place / "stat").read_text().rpartition(")")[2].split()
            command = (place / "cmdline").read_text()
        except OSError:  # it has ended
            continue
        kind = "server" if "explore(" in command else "page" if "=renderer" in command else ""
        ticks = int(parts[11]) + int(parts[12])
        children.setdefault(int(parts[1]), []).append(int(place.name))
        spent[int(place.name)] = kind, ticks / os.sysconf("SC_CLK_TCK")
    found, todo = {"server": 0.0, "page": 0.0}, [os.getpid()]
    while todo:
        for child in children.get(todo.pop(), []):
            todo.append(child)
            kind, seconds = spent[child]
            found[kind] = found.get(kind, 0.0) + seconds
    return found


def in_browser() -> None:
    """Print the start of the server, the first load, and the steps of a drag in two views."""
    before = time.perf_counter()
    with served() as address, browser() as context:
        print(f"server up, {time.perf_counter() - before:.1f} s with the browser")
        page = context.new_page()
        sizes = []
        page.on("response", lambda answer: sizes.append(answer.request.sizes()))
        page.goto(address)
        page.wait_for_selector("body[data-ready=yes]")
        load = sum(s["responseBodySize"] for s in sizes)
        print(f"first load {load / 1e6:.3f} MB in {len(sizes)} files (goal 0.6)")
        page.close()
        for name, (parts, goal) in CASES.items():
            time_case(context, address, name, state_of(**parts), goal)
        heavy = PlaneState(points=scatter(2000, seed=0), order=5).query
        with ThreadPoolExecutor(6) as pool:
            exports = [
                pool.submit(urllib.request.urlopen, f"{address}/export/plane.svg?{heavy}")
                for _ in range(6)
            ]
            time_case(context, address, "200 points during six exports", state_of(200), 100)
            waited = [export.result().status for export in exports]
        print(f"exports answered: {waited}")


def time_case(context: Any, address: str, name: str, state: PlaneState, goal: int | None) -> None:
    """Print the median and the 90th percentile of the steps of a drag."""
    page = open_page(context, f"{address}/?{state.query}")
    drag(page)
    before = cpu_seconds()
    found = drag(page)
    spent = {kind: (cpu_seconds()[kind] - before[kind]) / len(found) for kind in before}
    said = f" (goal {goal})" if goal else ""
    said += f"; CPU {1e3 * spent['server']:.0f} + {1e3 * spent['page']:.0f} ms"
    median, worst = statistics.median(found), statistics.quantiles(found, n=10)[-1]
    print(f"{name:45} median {median:5.1f} ms, p90 {worst:5.1f}{said}")
    page.close()


def server_step(state: PlaneState) -> Sampler:
    """Make a sampler of the server's part of one step of a drag, each time to another place."""
    session, steps = PlaneSession(state.query), count(1)
    x, y = session.drafter.scene(state.chart).points[0].tolist()
    session.answer()

    def step() -> None:
        shift = 0.003 * (next(steps) % 30)
        place = {"x": x + shift, "y": y + shift / 2, "view": 0, "far": False, "dragged": True}
        pack_message(session.hear([{"do": "move", "index": 0} | place]))

    return timed(step)


def on_server(n: int, repeats: int) -> None:
    """Print the medians of the server's part, the worst view of each layer."""
    base, samplers = PlaneState(points=scatter(n, seed=0)), {}
    for chart in CHART_NAMES:
        for K in (-0.8, 0.0, 0.8):
            here = replace(base, chart=chart, curvature=K)
            for layer in LAYERS:
                state = replace(here, shown=frozenset({"cells", layer}))
                samplers[f"{layer} | {chart} | K = {K:g}"] = server_step(state)
            for order in (3, 5):
                name = f"cells of order {order} | {chart} | K = {K:g}"
                samplers[name] = server_step(replace(here, order=order))
    seconds = interleave(samplers, repeats=repeats, warmups=2)
    print(describe_threads())
    print(f"{n} points, the server's part of one step; medians of {repeats}, in ms")
    medians = {name: 1e3 * statistics.median(samples) for name, samples in seconds.items()}
    for layer in dict.fromkeys(name.partition(" | ")[0] for name in medians):
        mine = {k: v for k, v in medians.items() if k.startswith(layer + " | ")}
        worst = max(mine, key=mine.__getitem__)
        print(
            f"{layer:20} {statistics.median(mine.values()):6.1f}, worst {mine[worst]:6.1f} {worst}"
        )


def main() -> None:
    """Time the steps in a browser, or those of the server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", action="store_true", help="time the server's part only")
    parser.add_argument("-n", type=int, default=200, help="points, with --server")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    if given.server:
        on_server(given.n, given.repeats)
    else:
        in_browser()


if __name__ == "__main__":
    main()
