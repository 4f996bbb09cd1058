"""The figure of README: what curvature adds on each table, beside whether the table is curved."""

from __future__ import annotations

import re
from pathlib import Path

VERDICTS = {
    "curved, elliptic": "#b3003c",
    "curved, hyperbolic": "#4f7a00",
    "flat cannot be excluded": "#5b3fd0",
    "too few rows to tell": "#9aa3ad",
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
    """Return what `estimate_curvature` says of each table."""
    known = "|".join(VERDICTS)
    return dict(re.findall(rf"^\| (\S+) \|[^\n]*?\| ({known})", output, re.M))


def draw(classifiers: str, curvature: str, path: Path) -> None:
    """Draw a dot for each table that both outputs name, grouped by verdict."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    gain, verdict = gains(classifiers), verdicts(curvature)
    order = list(VERDICTS)[::-1]
    names = sorted(
        gain.keys() & verdict, key=lambda name: (order.index(verdict[name]), gain[name], name)
    )
    look = {"svg.hashsalt": "cayleyklein", "font.size": 10, "svg.fonttype": "path"}
    with mpl.rc_context(look):
        figure, axes = plt.subplots(figsize=(7.2, 0.21 * len(names) + 1.1), layout="constrained")
        axes.axvline(0, color="#6b7480", linewidth=1)
        for kind, color in VERDICTS.items():
            own = [i for i, name in enumerate(names) if verdict[name] == kind]
            if own:
                values = [gain[names[i]] for i in own]
                axes.hlines(own, 0, values, color=color, linewidth=2)
                mean = sum(values) / len(values)
                label = f"{kind} ({len(own)}; mean {mean:+.1f})"
                axes.plot(values, own, "o", color=color, label=label)
        axes.set(
            xlabel="accuracy with curved parts minus flat part only, points",
            yticks=range(len(names)), yticklabels=names, ylim=(-0.8, len(names) - 0.2),
        )  # fmt: skip
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
