"""Decision regions of classifiers, exact for nearest neighbours in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import about, as_count, check_memory
from cayleyklein.diagrams import CayleyKleinVoronoi, box_around
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics import CurvedMetric, Metric, standard_factor
from cayleyklein.plotting._outlines import cell_outlines, domains_of
from cayleyklein.plotting._sections import (
    Section,
    as_labels,
    as_rows,
    choose_section,
    find_metric,
)
from cayleyklein.plotting._style import (
    NAMES,
    PADDING,
    PlaneDisplay,
    class_tints,
    draw_cells,
    draw_lines,
    draw_points,
    new_axes,
)
from cayleyklein.plotting._voronoi import picture_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Regions(NamedTuple):
    """Exact regions: outlines of cells, the class of each, and the frontier between classes.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.plotting import DecisionBoundaryDisplay
    >>> flat = CurvedMetric.euclidean(2)
    >>> X, y = [[0.0, 0.0], [1.0, 0.0]], ["a", "b"]
    >>> regions = DecisionBoundaryDisplay.from_points(X, y, flat).regions
    >>> len(regions.cells), regions.codes, regions.frontier.shape
    (2, array([0, 1]), (1, 2, 2))
    """

    cells: list[Floats]
    codes: Ints
    frontier: Floats


class Samples(NamedTuple):
    """Classes on a grid: coordinates of its columns and rows, and codes; -1 is outside the domain.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from cayleyklein.plotting import DecisionBoundaryDisplay
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], ["a", "b"]
    >>> model = KNeighborsClassifier(1).fit(X, y)
    >>> samples = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=50).regions
    >>> samples.codes.shape
    (50, 50)
    """

    x: Floats
    y: Floats
    codes: Ints


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay(PlaneDisplay):
    """Decision regions of a classifier (paper, figure 7).

    Make one by :meth:`from_points` or :meth:`from_diagram`, for the exact regions of nearest
    neighbours, with a piecewise linear frontier; or by :meth:`from_estimator`, for the predictions
    of any classifier on a grid, in the plane or on a plane section.

    Parameters
    ----------
    regions : Regions or Samples
    classes : ndarray of shape (n_classes,)
    bounds : ndarray of shape (2, 2)
        The lower and the upper corner of the picture.
    X : ndarray of shape (n, 2), optional
        Rows to show.
    y : ndarray of shape (n,), optional
        Their classes.
    names : pair of str, default=("$x_1$", "$x_2$")
        Labels of the axes.
    domains : sequence of Ellipsoid, default=()
        Fundamental conics to draw.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.plotting import DecisionBoundaryDisplay
    >>> X = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = DecisionBoundaryDisplay.from_points(X, ["a", "b", "b", "a"], metric)
    >>> display.regions.frontier.shape  # segments between cells of different classes
    (4, 2, 2)
    >>> figure = display.plot().figure_

    The predictions of any classifier on a grid:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1).fit(X, ["a", "b", "b", "a"])
    >>> DecisionBoundaryDisplay.from_estimator(model, X, resolution=50).classes
    array(['a', 'b'], dtype='<U1')

    A labelled diagram:

    >>> from cayleyklein import CayleyKleinVoronoi
    >>> diagram = CayleyKleinVoronoi(X, metric, labels=["a", "b", "b", "a"])
    >>> len(DecisionBoundaryDisplay.from_diagram(diagram).regions.cells)
    4
    """

    regions: Regions | Samples
    classes: AnyArray
    bounds: Floats
    X: Floats | None = None
    y: AnyArray | None = None
    names: Sequence[str] = NAMES
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_points(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        metric: CurvedMetric,
        *,
        n_neighbors: int = 1,
        window: ArrayLike | None = None,
    ) -> DecisionBoundaryDisplay:
        """Compute the exact regions of nearest neighbours in the plane.

        Parameters
        ----------
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
        metric : CurvedMetric
        n_neighbors : int, default=1
            Each of the k nearest has one vote; the first of equal classes wins.
        window : array-like of shape (2, 2), optional
            Lower and upper corner of a flat or elliptic picture.
        """
        with about("X, y or n_neighbors, the points, labels and order of a diagram"):
            diagram = CayleyKleinVoronoi(X, metric, order=n_neighbors, labels=y, window=window)
        return cls.from_diagram(diagram)

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> DecisionBoundaryDisplay:
        """Take the regions of a labelled diagram of the plane."""
        bounds = picture_bounds(diagram)
        if diagram.labels is None:
            raise InvalidInputError("The diagram has no labels; make it with labels=y.")
        codes = np.searchsorted(diagram.classes, diagram.cell_labels)
        return cls(
            regions=Regions(cell_outlines(diagram), codes, diagram.frontier()),
            classes=diagram.classes,
            bounds=bounds,
            X=diagram.points,
            y=diagram.labels,
            domains=domains_of(diagram.metric),
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        features: Sequence[Any] | str | None = None,
        feature_names: Sequence[str] | None = None,
        resolution: int = 300,
    ) -> DecisionBoundaryDisplay:
        """Compute the predictions of a fitted classifier on a grid over the rows.

        Parameters
        ----------
        estimator : classifier
            Anything with ``predict``. When it, or a step of a pipeline, has a hyperbolic metric,
            the picture is blank outside its domain.
        X : array-like of shape (n, d)
            Rows to show, projected to the plane of the picture.
        y : array-like of shape (n,), optional
        features : pair of int or str, "pca" or None
            The plane: two columns, with the others at the mean of X, or the principal plane of the
            standardised columns. None is "pca" when d > 2.
        feature_names : sequence of d str, optional
            The columns of a DataFrame by default.
        resolution : int, default=300
            Points of the grid along each axis, at least 2.
        """
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(
                f"estimator must be a fitted classifier; {type(estimator).__name__} has no predict."
            )
        rows = as_rows(X)
        as_labels(y, len(rows))
        ruler = CurvedMetric(factor=standard_factor(rows))
        section = choose_section(ruler, rows, features, names)
        shown = section.project(rows)
        bounds = box_around(shown)
        n = as_count(resolution, "resolution")
        if n < 2:
            raise InvalidInputError(f"Got resolution={n}, but a grid has at least 2 points a side.")
        check_memory(
            8.0 * n * n * (2 * rows.shape[1] + 4),
            f"A grid of {n:,} × {n:,} points of {rows.shape[1]:,} columns",
            "Take a smaller resolution.",
        )
        axes = [np.linspace(low, high, n) for low, high in bounds.T]
        grid = section.embed(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
        if hasattr(X, "iloc"):  # keep the names of columns for the estimator
            grid = type(X)(grid, columns=X.columns)
        metric, seen = find_metric(estimator, grid)
        classes, codes = _predict(estimator, grid, metric, seen)
        # The conic is drawn only if no step of a pipeline changes the rows before the metric.
        own = metric if seen is grid else None
        return cls(
            regions=Samples(axes[0], axes[1], codes.reshape(n, n)),
            classes=classes,
            bounds=bounds,
            X=shown,
            y=as_labels(y, len(rows)),
            names=section.names,
            domains=() if own is None else _domains_on(section, own),
        )

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, show_points: bool = True, **style: Any
    ) -> DecisionBoundaryDisplay:
        """Draw the regions, the frontier and the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        legend : bool, default=True
            Whether to name the classes.
        show_points : bool, default=True
        **style
            For the frontier, a LineCollection, or the contours of a grid.
        """
        ax = new_axes(ax)
        tints = class_tints(len(self.classes))
        if isinstance(self.regions, Regions):
            draw_cells(ax, self.regions.cells, [tints[code] for code in self.regions.codes])
            look = {"colors": "black", "linewidths": 1.4} | style
            draw_lines(ax, list(self.regions.frontier), **look)
        else:
            _draw_samples(ax, self.regions, tints, {"linewidths": 1.0} | style)
        if show_points and self.X is not None:
            draw_points(ax, self.X, self.y, self.classes)
            if legend and self.y is not None:
                ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        room = PADDING if self.domains and isinstance(self.regions, Regions) else 0.0
        return self._finish(ax, self.domains, self.bounds, names=self.names, padding=room)


def _domains_on(section: Section, metric: Metric) -> tuple[Ellipsoid, ...]:
    """Return the fundamental conics on a plane; none where they are a pair of lines."""
    if not domains_of(metric):
        return ()
    try:
        return domains_of(section.restrict(metric))
    except NotRepresentableError:  # of a factor of lower rank
        return ()


def _predict(estimator: Any, grid: Any, metric: Metric | None, seen: Any) -> tuple[AnyArray, Ints]:
    """Return the classes, and the codes of the predictions; -1 outside the metric's domain."""
    inside = np.ones(len(grid), bool) if metric is None else metric.contains(np.asarray(seen))
    if not inside.any():
        raise InvalidInputError("No point of the grid over X lies in the domain of the metric.")
    codes = np.full(len(grid), -1, dtype=np.intp)
    found = estimator.predict(grid[inside])
    classes = np.asarray(getattr(estimator, "classes_", np.unique(found)))
    codes[inside] = np.searchsorted(classes, found)
    return classes, codes


def _draw_samples(ax: Axes, samples: Samples, tints: Sequence[Any], style: dict[str, Any]) -> None:
    codes = samples.codes
    colors = np.array([*tints, (1.0, 1.0, 1.0)])[codes]  # -1, no class, is the last: white
    half = (samples.x[1] - samples.x[0]) / 2, (samples.y[1] - samples.y[0]) / 2
    extent = (
        samples.x[0] - half[0],
        samples.x[-1] + half[0],
        samples.y[0] - half[1],
        samples.y[-1] + half[1],
    )
    ax.imshow(colors, extent=extent, origin="lower", interpolation="nearest", zorder=0.5)
    for code in np.unique(codes[codes >= 0]):
        side = np.ma.masked_where(codes < 0, (codes == code).astype(float))
        if side.all():
            continue
        ax.contour(samples.x, samples.y, side, levels=[0.5], colors="black", **style)
