"""Decision regions of classifiers, exact for nearest neighbours in the plane."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import about, as_count, check_memory
from cayleyklein.diagrams import CayleyKleinVoronoi, domains
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.plotting import outlines, sections, style
from cayleyklein.plotting._voronoi import label_tints, picture_bounds
from cayleyklein.plotting.svg import PADDING


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay(style.PlaneDisplay):
    """Decision regions of a classifier (paper, figure 7).

    Make one by :meth:`from_points` or :meth:`from_diagram`, for the exact regions of nearest
    neighbours, or by :meth:`from_estimator`, for the predictions of any classifier on a grid.

    Parameters
    ----------
    regions : CayleyKleinVoronoi, or ndarray of shape (n, n)
        A labelled diagram, or indices of the classes on a grid over the bounds; -1 outside the
        domain.
    classes : ndarray of shape (n_classes,), in the order of their colours
    bounds : ndarray of shape (2, 2)
        The lower and the upper corner of the picture.
    X, y : ndarray of shape (n, 2) and (n,), optional
        Rows to show, and their classes.
    names : pair of str, default=("$x_1$", "$x_2$")
        Labels of the axes.
    domains : sequence of Ellipsoid, fundamental conics, default=()

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> X, y = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]], ["a", "b", "b", "a"]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> figure = DecisionBoundaryDisplay.from_points(X, y, metric).plot().figure_
    >>> diagram = CayleyKleinVoronoi(X, metric, labels=y)
    >>> DecisionBoundaryDisplay.from_diagram(diagram).classes
    array(['a', 'b'], dtype='<U1')
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1).fit(X, y)
    >>> DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=50).regions.shape
    (50, 50)
    """

    regions: CayleyKleinVoronoi | Ints
    classes: AnyArray
    bounds: Floats
    X: Floats | None = None
    y: AnyArray | None = None
    names: Sequence[str] = style.NAMES
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_points(
        cls, X: ArrayLike, y: ArrayLike, metric: CurvedMetric, *, n_neighbors: int = 1,
        window: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Compute the exact regions of nearest neighbours in the plane.

        Parameters
        ----------
        X, y : array-like of shape (n, 2) and (n,)
            Points of the plane, and their classes.
        metric : CurvedMetric of the plane
        n_neighbors : int, default=1
            Each of the k nearest points has one vote; the first class wins ties.
        window : array-like of shape (2, 2), optional
            Lower and upper corner of a flat or elliptic picture.
        """
        with about("X, y or n_neighbors, the points, labels and order of a diagram"):
            diagram = CayleyKleinVoronoi(X, metric, order=n_neighbors, labels=y, window=window)
        return cls.from_diagram(diagram)

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> Self:
        """Take the regions of a labelled diagram of the plane."""
        bounds = picture_bounds(diagram)
        if diagram.labels is None:
            raise InvalidInputError("The diagram has no labels; make it with labels=y.")
        return cls(
            regions=diagram, classes=diagram.classes, bounds=bounds, X=diagram.points,
            y=diagram.labels, domains=outlines.domains_of(diagram.metric),
        )  # fmt: skip

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *,
        features: Sequence[Any] | str | None = None, feature_names: Sequence[str] | None = None,
        resolution: int = 300,
    ) -> Self:  # fmt: skip
        """Compute the predictions of a fitted classifier on a grid over the rows.

        Parameters
        ----------
        estimator : classifier
            Any fitted object whose ``predict`` returns classes. When it, or a step of a pipeline,
            has a hyperbolic metric, the picture is blank outside its domain.
        X : array-like of shape (n, d)
            Rows to show, projected to the plane of the picture. The estimator gets a data frame
            with the columns of X if X is one, of pandas or polars.
        y : array-like of shape (n,), optional
            Their classes.
        features : pair of int or str, "pca" or None
            The plane: two columns, with the others at the mean of X, or the principal plane of the
            standardised columns. None is "pca" when d > 2.
        feature_names : sequence of d str, optional
            The columns of a DataFrame by default.
        resolution : int, default=300
            Points of the grid along each axis, at least 2.
        """
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(
                f"estimator must be a fitted classifier; {type(estimator).__name__} has no predict."
            )
        numbers = f"{type(estimator).__name__} predicts numbers, which have no decision regions"
        if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
            raise InvalidInputError(f"estimator must be a classifier; {numbers}.")
        rows, labels = sections.rows_and_labels(X, y)
        n, d = as_count(resolution, "resolution"), rows.shape[1]
        if n < 2:
            raise InvalidInputError(f"Got resolution={n}, but a grid has at least 2 points a side.")
        what = f"A grid of {n:,} × {n:,} points of {d:,} columns"
        check_memory(8.0 * n * n * (2 * d + 4), what, "Take a smaller resolution.")
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        ruler = CurvedMetric(factor=standard_factor(rows))
        section = sections.choose_section(ruler, rows, features, names)
        shown = section.project(rows)
        bounds = domains.box_around(shown)
        axes = np.linspace(bounds[0], bounds[1], n).T
        grid = section.embed(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
        table = sections.table_like(X, grid)
        metric, seen = sections.find_metric(estimator, table)
        inside = np.ones(len(grid), bool) if metric is None else metric.contains(np.asarray(seen))
        if not inside.any():
            raise InvalidInputError("No point of the grid over X lies in the domain of the metric.")
        found = np.asarray(estimator.predict(sections.table_like(X, grid[inside])))
        classes = np.asarray(getattr(estimator, "classes_", np.unique(found)))
        if not hasattr(estimator, "classes_") and found.dtype.kind == "f" and (found % 1).any():
            raise InvalidInputError(f"estimator must be a classifier; {numbers}.")
        codes = np.full(len(grid), -1, dtype=np.intp)
        codes[inside] = np.searchsorted(classes, found)
        # the conic is drawn only if no step of a pipeline changes the rows before the metric
        conics: tuple[Ellipsoid, ...] = ()
        if metric is not None and seen is table and outlines.domains_of(metric):
            with suppress(NotRepresentableError):  # of a factor of lower rank: a pair of lines
                conics = outlines.domains_of(section.restrict(metric))
        return cls(
            regions=codes.reshape(n, n), classes=classes, bounds=bounds, X=shown, y=labels,
            names=section.names, domains=conics,
        )  # fmt: skip

    def plot(
        self, ax: style.Axes | None = None, *, legend: bool = True, show_points: bool = True,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the regions, the frontier and the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        legend, show_points : bool, default=True
            Whether to name the classes, and to draw the rows.
        **options : options of the frontier, a LineCollection, or of the contours of a grid
        """
        ax, room = style.new_axes(ax), 0.0
        if isinstance(self.regions, CayleyKleinVoronoi):
            style.draw_cells(ax, self.regions.outlines(), label_tints(self.regions))
            look = {"colors": "black", "linewidths": 1.4} | options
            style.draw_lines(ax, list(self.regions.frontier()), **look)
            room = PADDING if self.domains else 0.0
        else:
            self._draw_grid(ax, self.regions, {"colors": "black", "linewidths": 1.0} | options)
        if show_points and self.X is not None:
            style.draw_points(ax, self.X, self.y, self.classes)
            if legend and self.y is not None:
                style.draw_legend(ax)
        return self._finish(ax, self.domains, self.bounds, names=self.names, padding=room)

    def _draw_grid(self, ax: style.Axes, codes: Ints, look: dict[str, Any]) -> None:
        n = len(codes)
        tints = [*style.class_tints(len(self.classes)), (1.0, 1.0, 1.0)]  # -1, no class, is white
        half = np.ptp(self.bounds, axis=0) / (n - 1) / 2
        extent: Any = np.stack([self.bounds[0] - half, self.bounds[1] + half]).T.ravel()
        ax.imshow(np.array(tints)[codes], extent=extent, origin="lower", interpolation="nearest")
        x, y = np.linspace(self.bounds[0], self.bounds[1], n).T
        for code in np.unique(codes[codes >= 0]):
            side = np.ma.masked_where(codes < 0, (codes == code).astype(float))
            if not side.all():
                ax.contour(x, y, side, levels=[0.5], **look)
