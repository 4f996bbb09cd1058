"""Shapes that pages and pictures are made of, and how SVG and Matplotlib draw them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import PredictionErrorDisplay

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import expect, require
from cayleyklein.geometry import Ellipsoid

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

NOTHING = np.empty((0, 2))


def unit_circle(n: int) -> Floats:
    angle = np.linspace(0, 2 * math.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _polygon(n: int, first: float, inner: float = 1.0) -> list[list[float]]:
    count = n if inner == 1.0 else 2 * n
    angle = np.radians(first) + 2 * math.pi * np.arange(count) / count
    radius = np.where(np.arange(count) % 2, inner, 1.0)
    area = count / 2 * inner * math.sin(2 * math.pi / count)
    radius *= math.sqrt(math.pi / area)
    corners = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return [[float(x), float(y)] for x, y in corners.round(3)]


MARKERS = {  # corners, with y downwards; all have the area of a circle of radius 1
    "circle": _polygon(24, 0),
    "square": _polygon(4, 45),
    "triangle": _polygon(3, -90),
    "diamond": _polygon(4, 0, 0.5),
    "down": _polygon(3, 90),
    "cross": _polygon(4, 45, 0.38),
    "hexagon": _polygon(6, 30),
    "star": _polygon(5, -90, 0.42),
}
COLORS = {  # of seven classes; the next ones have the same hues and other markers
    "light": ("#c94a00", "#0067a5", "#12805c", "#a06a00", "#4a4a4a", "#b0559a", "#2e8bc9"),
    "dark": ("#ff8a4c", "#4ea3e6", "#35c493", "#f0b429", "#e3e6ea", "#f08fcb", "#8fd3ff"),
}
PALETTE = {  # geometries and classes have different colours
    "light": {
        "ink": "#1b1f24",
        "soft": "#6b7480",
        "paper": "#ffffff",
        "gold": "#c08a00",
        "elliptic": "#b3003c",
        "flat": "#5b3fd0",
        "hyperbolic": "#4f7a00",
        "learned": "#7a3b12",
    },
    "dark": {
        "ink": "#e8eaed",
        "soft": "#98a2ad",
        "paper": "#15181c",
        "gold": "#ffe14d",
        "elliptic": "#ff5c7a",
        "flat": "#a993ff",
        "hyperbolic": "#a8d63a",
        "learned": "#d2a27c",
    },
}
for _name, _colors in COLORS.items():
    PALETTE[_name] |= {f"class{i}": color for i, color in enumerate(_colors)}
LIGHT = PALETTE["light"]
GEOMETRY_COLORS = {name: LIGHT[name] for name in ("elliptic", "hyperbolic", "flat")}
GEOMETRY_COLORS |= {"mixed": LIGHT["learned"], "product": LIGHT["gold"]}

STRENGTHS = (0.30, 0.55, 0.16)  # opacity of the regions of classes 0–6, 7–13, and of the rest
PADDING = 0.04  # margin of a picture on each side, relative to its size
BLUE = LIGHT["class1"]
DOMAIN_WIDTH = 2.2  # of the conic, in points
EDGE_WIDTH = 0.8  # of the edges of cells, in points
NAMES = ("$x_1$", "$x_2$")
WORD_HEIGHT = 18.0  # height of words, in pixels


def class_look(label: int) -> tuple[str, str, float]:
    """Return the colour and marker of a class, unique up to 56, and the opacity of its region."""
    n_hues = len(COLORS["light"])
    marker = list(MARKERS)[label % len(MARKERS)]
    strength = STRENGTHS[label // n_hues % len(STRENGTHS)]
    return f"class{label % n_hues}", marker, strength


class Shape(NamedTuple):
    """An "area", a "line", "marks" or "words" to draw; NaN in xy separates two paths.

    Words are centred at their places, moved by `shift` pixels to the right and down.
    """

    kind: str
    xy: Floats
    color: str = "ink"  # of the palette, or hexadecimal; "" leaves marks open
    size: float = 1.0  # width of a line or radius of marks, in pixels
    dash: tuple[float, ...] = ()
    alpha: float = 1.0
    marker: str = "circle"
    edge: str = "paper"
    edge_width: float = 1.0
    text: tuple[str, ...] = ()
    shift: Floats = NOTHING


def chain(paths: Iterable[Floats]) -> Floats:
    """Return paths as one, separated by rows of NaN, without the empty ones."""
    gap = np.full((1, 2), np.nan)
    pieces: list[Floats] = []
    for path in paths:
        if len(path):
            pieces += [gap, path]
    return np.concatenate(pieces[1:]) if pieces else NOTHING


def split_paths(xy: Floats) -> list[Floats]:
    """Return the paths that rows of NaN separate."""
    paths = []
    for piece in np.split(xy, np.flatnonzero(np.isnan(xy[:, 0]))):
        path = piece[~np.isnan(piece[:, 0])]
        if len(path):
            paths.append(path)
    return paths


def picture(shapes: Iterable[Shape], bounds: Floats, size: float, title: str) -> str:
    """Return a picture of a box of the plane with some room, its longer side of `size` pixels."""
    room = PADDING * (float(np.ptp(bounds, axis=0).max()) or 1.0)
    window = bounds + np.array([[-room], [room]])
    extent = np.ptp(window, axis=0)
    width, height = np.maximum(size * extent / extent.max(), 1.0).tolist()
    # the ink is that of the text around the picture, light or dark
    palette = LIGHT | {"ink": "currentColor"}
    return document(width, height, title, elements(shapes, window, size, palette))


def elements(shapes: Iterable[Shape], *frame: Any) -> str:
    """Return shapes as elements of a picture of a window and size (pixels), in a palette."""
    return "".join(_element(shape, *frame) for shape in shapes if len(shape.xy))


def _element(shape: Shape, window: Floats, size: float, palette: Mapping[str, str]) -> str:
    scale = size / np.ptp(window, axis=0).max()
    xy = (shape.xy - [window[0, 0], window[1, 1]]) * [scale, -scale]
    # what is farther than 40 widths is drawn there, in the same direction
    far = np.abs(xy).max(axis=1, keepdims=True) / (40.0 * size)
    xy = xy / np.fmax(far, 1.0)
    color = palette.get(shape.color, shape.color)
    edge = palette.get(shape.edge, "none")
    paths = ["L".join(f"{x:.1f} {y:.1f}" for x, y in p.tolist()) for p in split_paths(xy)]
    if shape.kind == "area":
        d = "".join(f"M{path}Z" for path in paths)
        return f'<path d="{d}" fill="{color}" fill-opacity="{shape.alpha:.2g}"/>'
    if shape.kind == "line":
        d = "".join(f"M{path}" for path in paths)
        dashes = " ".join(map(str, shape.dash))
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        return (
            f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{shape.size:g}" '
            f'stroke-opacity="{shape.alpha:.2g}" stroke-linejoin="round"{dash}/>'
        )
    if shape.kind == "marks":
        corners = shape.size * np.array(MARKERS[shape.marker])
        outline = "l".join(f"{x:.2g} {y:.2g}" for x, y in np.diff(corners, axis=0).tolist())
        d = "".join(f"M{x:.1f} {y:.1f}l{outline}z" for x, y in (xy + corners[0]).tolist())
        return (
            f'<path d="{d}" fill="{color or "none"}" opacity="{shape.alpha:.2g}" stroke="{edge}" '
            f'stroke-width="{shape.edge_width:g}"/>'
        )
    return "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" stroke="{palette.get("paper", "none")}" '
        f'stroke-width="3" paint-order="stroke" stroke-linejoin="round" text-anchor="middle" '
        f'dy="0.33em" font-family="serif" font-style="italic" '
        f'font-size="{WORD_HEIGHT:g}">{escape(text)}</text>'
        for (x, y), text in zip((xy + shape.shift).tolist(), shape.text, strict=True)
    )


def document(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{body}</svg>'
    )


def number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def new_axes(ax: Axes | None) -> Any:
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot")
        return pyplot.figure(figsize=(4.8, 4.8), layout="constrained").add_subplot()
    flat = isinstance(ax, require("matplotlib.axes", "plot").Axes) and ax.name != "3d"
    expect(flat, "ax", ax, 'matplotlib Axes, without projection="3d"')
    return ax


class PlaneDisplay:
    """Base of the pictures that are drawn in one axes: `plot` sets `ax_` and `figure_`."""

    ax_: Axes
    figure_: Any

    def _finish(self, ax: Axes, domains: Any, *shown: Floats, **options: Any) -> Self:
        draw_domains(ax, domains)
        finish_axes(ax, np.concatenate(shown), **options)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def finish_axes(
    ax: Axes,
    shown: Floats,
    names: Sequence[str] = NAMES,
    *,
    padding: float = PADDING,
    title: str = "",
    legend: bool = False,
) -> None:
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
    inks = LIGHT | {"ink": "black"}
    color = inks.get(shape.color, shape.color)
    look: dict[str, Any] = {"alpha": None if shape.alpha == 1 else shape.alpha}
    if shape.kind == "marks":
        look |= {"linewidths": shape.edge_width, "zorder": 4}
        look |= {"facecolors": color or "none", "edgecolors": inks.get(shape.edge, shape.edge)}
        if "color" in options:
            del look["facecolors"]
        corners = MARKERS[shape.marker]
        look |= {"marker": np.array([*corners, corners[0]]) * [1, -1]} | options
        # Matplotlib scales each marker to the same largest coordinate
        look["s"] = look.get("s", (2 * shape.size) ** 2) * np.abs(corners).max() ** 2
        return ax.scatter(*shape.xy.T, **look)
    collections = require("matplotlib.collections", "plot")
    if shape.kind == "area":
        look |= {"facecolors": color, "edgecolors": "none"} | options
        made = collections.PolyCollection(split_paths(shape.xy), **look)
    else:
        look |= {"capstyle": "round", "joinstyle": "round"}
        look |= {"colors": color, "linewidths": shape.size}
        pieces = [piece for piece in split_paths(shape.xy) if len(piece) > 1]
        made = collections.LineCollection(pieces, **(look | options))
    return ax.add_collection(made, autolim=False)  # they may go to infinity


def draw_lines(ax: Axes, paths: Iterable[Floats], **options: Any) -> Any:
    return draw_shape(ax, Shape("line", chain(paths), size=EDGE_WIDTH), **options)


def draw_points(
    ax: Axes,
    points: Floats,
    labels: AnyArray | None = None,
    classes: AnyArray | None = None,
    **options: Any,
) -> None:
    dots = Shape("marks", points, "black", 2.0, edge_width=0.5)
    if labels is None:
        draw_shape(ax, dots, **({"color": "black", "edgecolors": "white"} | options))
        return
    first = np.unique(labels) if classes is None else classes
    for i, name in enumerate([*first, *np.setdiff1d(labels, first)]):
        color, marker, _ = class_look(i)
        these = labels == name
        mine = dots._replace(xy=points[these], color=color, marker=marker)
        look = {"label": str(name)} | options
        if np.ndim(look.get("s", 0)):
            look["s"] = look["s"][these]
        draw_shape(ax, mine, **look)


def class_tints(n: int, strength: float = 0.22) -> list[tuple[float, ...]]:
    """Return the colours of the regions of n classes, which show so much of the classes' own."""
    return [tint(LIGHT[class_look(i)[0]], strength) for i in range(n)]


def tint(color: str, strength: float) -> tuple[float, ...]:
    rgb = np.array(require("matplotlib.colors", "plot").to_rgb(color))
    return tuple(1 - strength * (1 - rgb))  # opaque: regions that overlap do not get darker


def residuals_figure(truth: Floats, predicted: Floats) -> Any:
    """Return a figure of true numbers and, below it, of residuals over the predicted numbers."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(5.6, 7.8), layout="constrained")
    kinds: Any = {"actual_vs_predicted": "true", "residual_vs_predicted": "true − predicted"}
    for ax, (kind, name) in zip(figure.subplots(2, 1), kinds.items(), strict=True):
        PredictionErrorDisplay.from_predictions(
            truth,
            predicted,
            kind=kind,
            ax=ax,
            scatter_kwargs={"color": BLUE, "alpha": 0.6, "s": 14, "linewidths": 0},
            line_kwargs={"color": "0.4"},
            subsample=2000,
            random_state=0,
        )
        ax.set(xlabel="predicted", ylabel=name)
        for axis in (ax.xaxis, ax.yaxis):  # scikit-learn's ticks are not round numbers
            axis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(5))
    return figure
