"""The Matplotlib writer: shapes on axes, and the look of these: line widths, limits, labels."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import PredictionErrorDisplay

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import expect, require
from cayleyklein.geometry import Ellipsoid
from cayleyklein.plotting import shapes
from cayleyklein.plotting.shapes import PADDING, Shape, chain, class_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

BLUE = shapes.LIGHT["class1"]
INKS = shapes.LIGHT | {"ink": "black"}
REGION_TINT = 0.22  # how much of a class's colour its regions show
DOMAIN_WIDTH, EDGE_WIDTH = 2.2, 0.8
MOST_POINTS = 2000  # residuals that are drawn of more
NAMES = ("$x_1$", "$x_2$")


def new_axes(ax: Axes | None) -> Any:
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot")
        return pyplot.figure(figsize=(4.8, 4.8), layout="constrained").add_subplot()
    flat = isinstance(ax, require("matplotlib.axes", "plot").Axes) and ax.name != "3d"
    expect(flat, "ax", ax, 'matplotlib Axes, without projection="3d"')
    return ax


class PlaneDisplay:
    """Base of the pictures in one axes of the plane: `plot` sets `ax_` and `figure_`."""

    ax_: Axes
    figure_: Any

    def _finish(self, ax: Axes, domains: Any, *shown: Floats, **options: Any) -> Self:
        draw_domains(ax, domains)
        finish_axes(ax, np.concatenate(shown), **options)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def finish_axes(
    ax: Axes, shown: Floats, names: Sequence[str] = NAMES, *, padding: float = PADDING,
    title: str = "", legend: bool = False,
) -> None:  # fmt: skip
    # displays may share one axes: limits hold all that is shown, and texts that are set stay
    ax.update_datalim(shown)
    ax.margins(padding)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ticker = require("matplotlib.ticker", "plot")
    for axis in (ax.xaxis, ax.yaxis):
        locator: Any = axis.get_major_locator()
        if isinstance(locator, ticker.AutoLocator):
            locator.set_params(nbins=6)
    ax.set(xlabel=ax.get_xlabel() or names[0], ylabel=ax.get_ylabel() or names[1])
    if title and not ax.get_title():
        ax.set_title(title, fontsize="medium")
    if legend:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")


def draw_domains(ax: Axes, domains: Iterable[Ellipsoid]) -> None:
    patches = require("matplotlib.patches", "plot")
    for domain in domains:
        edge = domain.boundary(512)
        drawn: list[Any] = [old for old in ax.get_children() if old.get_gid() == "domain"]
        if not any(np.array_equal(old.get_xy()[:-1], edge) for old in drawn):
            look = {"fill": False, "linewidth": DOMAIN_WIDTH, "joinstyle": "round", "zorder": 3}
            # not by add_patch: a domain far larger than the bounds must not widen the limits
            ax.add_artist(patches.Polygon(edge, edgecolor="black", gid="domain", **look))


def draw_shape(ax: Axes, shape: Shape, **options: Any) -> Any:
    """Draw an area, a line or marks, sizes in points, with options of the artist; return it."""
    color = INKS.get(shape.color, shape.color)
    look: dict[str, Any] = {"alpha": None if shape.alpha == 1 else shape.alpha}
    if shape.kind == "marks":
        look |= {"s": (2 * shape.size) ** 2, "linewidths": shape.edge_width, "zorder": 4}
        look |= {"facecolors": color or "none", "edgecolors": INKS.get(shape.edge, shape.edge)}
        if "color" in options:
            del look["facecolors"]
        corners = shapes.MARKERS[shape.marker]
        marker = np.array([*corners, corners[0]]) * [1, -1]
        return ax.scatter(*shape.xy.T, **({"marker": marker} | look | options))
    collections = require("matplotlib.collections", "plot")
    if shape.kind == "area":
        look |= {"facecolors": color, "edgecolors": "none"} | options
        made = collections.PolyCollection(shapes.split_paths(shape.xy), **look)
    else:
        look |= {"capstyle": "round", "joinstyle": "round"}
        look |= {"colors": color, "linewidths": shape.size}
        pieces = [piece for piece in shapes.split_paths(shape.xy) if len(piece) > 1]
        made = collections.LineCollection(pieces, **(look | options))
    return ax.add_collection(made, autolim=False)  # they may go to infinity


def draw_lines(ax: Axes, paths: Iterable[Floats], **options: Any) -> Any:
    return draw_shape(ax, Shape("line", chain(paths), size=EDGE_WIDTH), **options)


def draw_points(
    ax: Axes, points: Floats, labels: AnyArray | None = None, classes: AnyArray | None = None,
    **options: Any,
) -> None:  # fmt: skip
    dots = Shape("marks", points, "black", 2.0, edge_width=0.5)
    if labels is None:
        draw_shape(ax, dots, **({"color": "black", "edgecolors": "white"} | options))
        return
    first = np.unique(labels) if classes is None else classes
    for i, name in enumerate([*first, *np.setdiff1d(labels, first)]):
        color, marker, _ = class_look(i)
        mine = dots._replace(xy=points[labels == name], color=color, marker=marker)
        draw_shape(ax, mine, **({"label": str(name)} | options))


def class_tints(n: int) -> list[tuple[float, ...]]:
    return [tint(shapes.LIGHT[class_look(i)[0]], REGION_TINT) for i in range(n)]


def tint(color: str, strength: float) -> tuple[float, ...]:
    rgb = np.array(require("matplotlib.colors", "plot").to_rgb(color))
    return tuple(1 - strength * (1 - rgb))  # opaque, so that neighbours do not add up


def residuals_figure(truth: Floats, predicted: Floats) -> Any:
    """Return a figure of true numbers and of residuals, each over the predicted numbers."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(9.4, 4.4), layout="constrained")
    look: Any = {"scatter_kwargs": {"color": BLUE, "alpha": 0.6, "s": 14, "linewidths": 0}}
    look |= {"line_kwargs": {"color": "0.4"}, "subsample": MOST_POINTS, "random_state": 0}
    kinds = {"actual_vs_predicted": "true", "residual_vs_predicted": "true − predicted"}
    for ax, (kind, name) in zip(figure.subplots(1, 2), kinds.items(), strict=True):
        PredictionErrorDisplay.from_predictions(truth, predicted, kind=kind, ax=ax, **look)
        ax.set(xlabel="predicted", ylabel=name)
        for axis in (ax.xaxis, ax.yaxis):  # scikit-learn's ticks are odd numbers
            axis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(5))
    return figure
