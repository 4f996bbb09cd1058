"""The figure of README: what curved parts add to accuracy, beside whether a table is curved.

The two are different questions: a product of spheres has more parameters than a flat metric, and
may gain where no single curved space explains the table better than its flat rivals.
"""

from __future__ import annotations

import re
from pathlib import Path

NOT_ASKED = "verdict not taken"
VERDICTS = {
    "curved": "#b3003c",
    "curved in these coordinates": "#c94a00",
    "no evidence": "#5b3fd0",
    "too few rows, or nothing predicts y": "#b48a00",
    NOT_ASKED: "#9aa3ad",
}


def gains(output: str) -> dict[str, float]:
    """Return accuracy with curved parts minus without, in points, by table."""
    head, *rows = re.search(
        r"^accuracy with at most 500 training rows: (.*?)\n\n", output, re.M | re.S
    )[1].splitlines()
    methods = head.replace(", flat part only", " flat").replace(", cross-", " cross-").split(", ")
    curved, flat = methods.index("kernel"), methods.index("kernel flat")
    found = {}
    for row in rows:
        name, *scores = row.split()
        found[name] = 100 * (float(scores[curved]) - float(scores[flat]))
    return found


def verdicts(output: str) -> dict[str, str]:
    """Return the verdict of `estimate_curvature` on each table, without the sign of K."""
    tables = "".join(re.findall(r"^real tables, .*?\n\n", output, re.M | re.S))
    found = re.findall(r"^\| (\S+) \| \d+ \| \d+ \| \d+ \| ([^|]*?) \|", tables, re.M)
    signs = re.compile(", (elliptic|hyperbolic)$")
    return {name: signs.sub("", verdict) for name, verdict in found}


def draw(classifiers: str, curvature: str, path: Path) -> None:
    """Draw a dot for each table, sorted by gain and coloured by verdict."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    gain, verdict = gains(classifiers), verdicts(curvature)
    names = sorted(gain, key=lambda name: (gain[name], name))
    look = {"svg.hashsalt": "cayleyklein", "font.size": 10, "svg.fonttype": "path"}
    with mpl.rc_context(look):
        figure, axes = plt.subplots(figsize=(7.2, 0.21 * len(names) + 1.1), layout="constrained")
        axes.axvline(0, color="#6b7480", linewidth=1)
        for kind, color in VERDICTS.items():
            own = [i for i, name in enumerate(names) if verdict.get(name, NOT_ASKED) == kind]
            if own:
                values = [gain[names[i]] for i in own]
                axes.hlines(own, 0, values, color=color, linewidth=2)
                axes.plot(values, own, "o", color=color, label=f"{kind} ({len(own)})")
        mean = sum(gain.values()) / len(gain)
        axes.set(
            xlabel=f"accuracy with curved parts minus flat part only, points; mean {mean:+.1f}",
            yticks=range(len(names)),
            yticklabels=names,
            ylim=(-0.8, len(names) - 0.2),
        )
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
