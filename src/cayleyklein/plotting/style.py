"""The look of every picture: colours, line widths, axes and limits."""

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

# Okabe and Ito's palette, whose colours stay apart in the common kinds of colour blindness.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, YELLOW, BLACK = "#CC79A7", "#56B4E9", "#F0E442", "#000000"

# The paper's red, green and blue, in shades safe for colour blindness, and two more.
GEOMETRY_COLORS = {
    "elliptic": VERMILION, "hyperbolic": GREEN, "flat": BLUE, "mixed": PURPLE, "product": ORANGE
}  # fmt: skip
CLASS_COLORS = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
REGION_TINT = 0.22  # how much of a class's colour its regions show

DOMAIN_WIDTH, EDGE_WIDTH = 2.2, 0.8
DOMAIN_ID = "domain"
NAMES = ("$x_1$", "$x_2$")
PICTURE_PADDING = 0.04  # margin of a picture on each side, relative to its size


def new_axes(ax: Axes | None, projection: str | None = None) -> Any:
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot")
        figure = pyplot.figure(figsize=(4.8, 4.8), layout="constrained")
        return figure.add_subplot(projection=projection)
    if not isinstance(ax, require("matplotlib.axes", "plot").Axes):
        raise InvalidInputError(f"ax must be matplotlib Axes; got {type(ax).__name__}.")
    if (ax.name == "3d") != (projection == "3d"):
        kind = "with" if projection else "without"
        raise InvalidInputError(f'ax must be made {kind} projection="3d" for this picture.')
    return ax


class PlaneDisplay:
    """Base of the pictures in one axes of the plane: `plot` sets `ax_` and `figure_`."""

    ax_: Axes
    figure_: Any

    def _finish(
        self, ax: Axes, domains: Iterable[Ellipsoid], *shown: Floats,
        names: Sequence[str] = NAMES, padding: float = PICTURE_PADDING,
    ) -> Self:  # fmt: skip
        draw_domains(ax, domains)
        rows = np.concatenate(shown)
        finish_axes(ax, rows if len(rows) else None, names, padding=padding)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def finish_axes(
    ax: Axes, bounds: Floats | None, names: Sequence[str], *, padding: float = PICTURE_PADDING
) -> None:
    # displays may share one axes: limits hold all their bounds, and labels that are set stay
    if bounds is not None:
        ax.update_datalim(bounds)
    ax.margins(padding)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ticker = require("matplotlib.ticker", "plot")
    for axis in (ax.xaxis, ax.yaxis):
        locator: Any = axis.get_major_locator()
        if isinstance(locator, ticker.AutoLocator):
            locator.set_params(nbins=6)
    ax.set(xlabel=ax.get_xlabel() or names[0], ylabel=ax.get_ylabel() or names[1])


def draw_domains(ax: Axes, domains: Iterable[Ellipsoid]) -> None:
    patches = require("matplotlib.patches", "plot")
    for domain in domains:
        edge = domain.boundary(512)
        drawn: list[Any] = [old for old in ax.get_children() if old.get_gid() == DOMAIN_ID]
        if not any(np.array_equal(old.get_xy()[:-1], edge) for old in drawn):
            look = {"fill": False, "linewidth": DOMAIN_WIDTH, "joinstyle": "round", "zorder": 3}
            # not by add_patch: a domain far larger than the bounds must not widen the limits
            ax.add_artist(patches.Polygon(edge, edgecolor="black", gid=DOMAIN_ID, **look))


def draw_lines(ax: Axes, paths: Sequence[Floats], **style: Any) -> Any:
    collections = require("matplotlib.collections", "plot")
    look = {"capstyle": "round", "joinstyle": "round", "linewidths": EDGE_WIDTH} | style
    lines = collections.LineCollection([path for path in paths if len(path) > 1], **look)
    return ax.add_collection(lines, autolim=False)  # they may go to infinity


def draw_points(
    ax: Axes, points: Floats, labels: AnyArray | None = None, classes: AnyArray | None = None,
    **style: Any,
) -> None:  # fmt: skip
    look: dict[str, Any] = {"s": 16, "zorder": 4, "linewidths": 0.5, "edgecolors": "white"} | style
    if labels is None:
        ax.scatter(*points.T, **({"color": "black"} | look))
        return
    first = np.unique(labels) if classes is None else classes
    names = [*first, *np.setdiff1d(labels, first)]
    markers = cycle(CLASS_MARKERS)
    for name, color, marker in zip(names, class_colors(len(names)), markers, strict=False):
        mine: dict[str, Any] = {"color": color, "marker": marker, "label": str(name)} | look
        ax.scatter(*points[labels == name].T, **mine)


def draw_legend(ax: Axes, **look: Any) -> None:
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), **look)


def class_colors(n: int) -> list[str]:
    return list(islice(cycle(CLASS_COLORS), n))


def class_tints(n: int) -> list[tuple[float, ...]]:
    return [tint(color, REGION_TINT) for color in class_colors(n)]


def tint(color: str, strength: float) -> tuple[float, ...]:
    rgb = np.array(require("matplotlib.colors", "plot").to_rgb(color))
    return tuple(1 - strength * (1 - rgb))  # opaque, so that neighbours do not add up
