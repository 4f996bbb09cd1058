# The pictures of docs/curvature.md: a flat truth that looks curved, and how many rows it takes.
#     python docs/_curvature.py    writes docs/_static/curvature-plane.svg and curvature-rows.svg
# The second one shows counts of docs/evidence/verdicts.txt.

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import estimate_curvature
from cayleyklein.curvature import rivals, verdicts

HERE = Path(__file__).parent
LOOK = {"svg.hashsalt": "cayleyklein", "font.size": 10, "svg.fonttype": "path"}
BLUE, RED, GREEN, GREY = "#0067a5", "#b3003c", "#4f7a00", "#6b7480"


def plane():
    """Draw labels of a line, the likelihood over K, and what the rivals say."""
    X = np.random.default_rng(1).normal(size=(200, 2))
    y = X @ [1.0, 0.6] > 0
    found = estimate_curvature(X, y, shape="isotropic", random_state=0)
    z, Y = X - X.mean(axis=0), (y - y.mean())[:, None]
    rng = np.random.RandomState(0)
    folds = [verdicts.deal(z, Y, True, rng) for _ in range(verdicts.PARTITIONS)]
    every, few = verdicts.samples(z, Y, True, rng)
    judged = verdicts.judge_processes(every, few, rivals.find_axes(few), folds)

    def best(kind, sign=0):
        chosen = [m for m in judged if m.kind == kind and m.sign == sign]
        return max(model.densities.sum() for model in chosen)

    plain = next(m for m in judged if m.model == "plain distances").densities.sum()
    nats = {
        "flat, all directions alike": 0.0,
        "best hyperbolic space": best("curved", -1) - plain,
        "best sphere": best("curved", 1) - plain,
        "best flat space": best("in place") - plain,
    }
    with mpl.rc_context(LOOK):
        figure, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
        for label, color in ((False, BLUE), (True, "#c94a00")):
            axes[0].plot(*X[y == label].T, "o", color=color, markersize=4)
        axes[0].axline((0, 0), slope=-1 / 0.6, color="black", linewidth=1)
        axes[0].set(title="the truth: a straight line", aspect="equal", xticks=[], yticks=[])
        K, value, _ = found.profile
        axes[1].plot(K, value - value.max(), ".-", color=GREY)
        axes[1].axvline(0, color="black", linewidth=1)
        axes[1].set_xscale("symlog", linthresh=-K.min(), linscale=1.5)
        axes[1].set_xticks([0, 0.1, 1], ["0, flat", "0.1", "1"])
        axes[1].minorticks_off()
        axes[1].set(title="one process says: a sphere", xlabel="curvature K")
        axes[1].set_ylabel("log likelihood below its maximum")
        bars = axes[2].barh(list(nats), list(nats.values()), color=[GREY, GREEN, RED, BLUE])
        axes[2].bar_label(bars, fmt="%.0f", padding=3)
        axes[2].invert_yaxis()
        axes[2].margins(x=0.15)
        axes[2].set(title="held-out rows say: flat", xlabel="gain in log density")
        for ax in axes[1:]:
            ax.spines[["top", "right"]].set_visible(False)
        figure.savefig(HERE / "_static" / "curvature-plane.svg", metadata={"Date": None})
        plt.close(figure)


def rows():
    """Draw the share of curved draws that are called so, over the number of rows."""
    text = (HERE / "evidence" / "verdicts.txt").read_text("utf-8")
    text = text.partition("how many rows it takes\n")[2].partition("\n\n")[0]
    names = {
        "cap_process": ("a sphere, out to 80°", RED, 2),
        "hyperbolic_process": ("hyperbolic, out to radius 3", GREEN, 1),
        "wide_hyperbolic_process": ("hyperbolic, out to radius 4", BLUE, 1),
    }
    with mpl.rc_context(LOOK):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
        for ax, d in zip(axes, (2, 4), strict=True):
            for name, (label, color, _) in names.items():
                found = re.findall(
                    rf"^\| {name} \| (\d+) \| {d} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+)",
                    text, re.M,
                )  # fmt: skip
                counts = np.array(found, dtype=float)
                n, draws = counts[:, 0], counts[:, 1:].sum(axis=1)
                ax.plot(n, counts[:, 1] / draws, "o-", color=color, label=label)
                ax.plot(n, counts[:, 1:3].sum(axis=1) / draws, "o--", color=color, mfc="white")
            ax.set_xscale("log")
            ticks = [60, 100, 200, 300, 500, 1000]
            ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            ax.minorticks_off()
            ax.set(title=f"{d} columns", xlabel="rows", ylim=(-0.03, 1.03))
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("share of draws called curved")
        handles, labels = axes[0].get_legend_handles_labels()
        for style, label in (("-", "curved"), ("--", "in either strength")):
            handles.append(plt.Line2D([], [], color=GREY, linestyle=style))
            labels.append(label)
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(HERE / "_static" / "curvature-rows.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    plane()
    rows()
