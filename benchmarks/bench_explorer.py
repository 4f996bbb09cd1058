"""Time what the explorer's server does for one step of a drag with 200 generators.

From the command that arrives to the message that leaves: the new state, its scene, and the columns
that have changed as a message of Bokeh's protocol. The goal is a median under 100 ms for every
layer, view and order.
"""

import argparse
import json
import statistics
from dataclasses import replace
from itertools import count

from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.protocol import Protocol

from _timing import Sampler, describe_threads, interleave, timed
from cayleyklein.app._plane import PlanePage
from cayleyklein.app._state import CHARTS, LAYERS, PlaneState, scatter

CURVATURES = (-0.8, 0.0, 0.8)


def drag_step(state: PlaneState) -> Sampler:
    """Make a sampler of one step of a drag, each time to another place."""
    document = Document()
    page = PlanePage(document, {})
    page.session.state = state
    page.session.apply({"do": "grab", "reach": 9.0} | at(page, 0.0))
    steps, protocol, events = count(1), Protocol(), []
    document.callbacks.on_change(
        lambda event: events.append(event) if isinstance(event, DocumentPatchedEvent) else None
    )

    def step() -> None:
        number = next(steps)
        command = {"do": "drag"} | at(page, 0.003 * (number % 30))
        page.wire.data = {"number": [number], "commands": [json.dumps([command])]}
        protocol.create("PATCH-DOC", events)
        events.clear()

    return timed(step)


def at(page: PlanePage, shift: float) -> dict[str, float]:
    """Return a place on the screen near the first chosen point."""
    x, y = page.session.scene.points[page.session.state.chosen[0]].tolist()
    return {"x": x + shift, "y": y + shift / 2}


def cases(n: int) -> dict[str, PlaneState]:
    """Return what is timed: each layer and each order, in each view and curvature."""
    base = PlaneState(points=scatter(n, seed=0))
    found = {}
    for chart in CHARTS:
        for K in CURVATURES:
            here = replace(base, chart=chart, curvature=K)
            for layer in LAYERS:
                shown = frozenset({"cells", layer})
                found[f"{layer} | {chart} | K = {K:g}"] = replace(here, shown=shown)
            for order in (3, 5):
                name = f"cells of order {order} | {chart} | K = {K:g}"
                found[name] = replace(here, order=order)
    return found


def main() -> None:
    """Print the medians, the worst view of each layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=200, help="generators")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    samplers = {name: drag_step(state) for name, state in cases(given.n).items()}
    seconds = interleave(samplers, repeats=given.repeats, warmups=2)
    print(describe_threads())
    print(f"{given.n} generators, one step of a drag; medians of {given.repeats}, in ms")
    medians = {name: 1e3 * statistics.median(samples) for name, samples in seconds.items()}
    for layer in dict.fromkeys(name.partition(" | ")[0] for name in medians):
        mine = {k: v for k, v in medians.items() if k.startswith(layer + " | ")}
        slowest = max(mine, key=mine.__getitem__)
        middle = statistics.median(mine.values())
        print(f"{layer:18} {middle:6.1f}   slowest {mine[slowest]:6.1f} ({slowest})")
    over = [name for name, value in medians.items() if value > 100]
    print(f"over 100 ms: {', '.join(over) or 'none'}")


if __name__ == "__main__":
    main()
