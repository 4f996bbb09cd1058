"""Decision regions of classifiers."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_count, check_memory
from cayleyklein.diagrams import domains
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.plotting import outlines, sections, style


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay(style.PlaneDisplay):
    """Decision regions of any classifier, by its predictions on a grid.

    Make one by :meth:`from_estimator`. The exact regions of nearest neighbours in the plane are
    drawn by :class:`VoronoiDisplay`, with ``regions=True``.

    Parameters
    ----------
    regions : ndarray of shape (n, n)
        Indices of the classes on a grid over the bounds; -1 outside the domain.
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
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]], ["a", "b", "b", "a"]
    >>> model = KNeighborsClassifier(1).fit(X, y)
    >>> display = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=50)
    >>> display.regions.shape
    (50, 50)
    >>> figure = display.plot().figure_
    """

    regions: Ints
    classes: AnyArray
    bounds: Floats
    X: Floats | None = None
    y: AnyArray | None = None
    names: Sequence[str] = style.NAMES
    domains: Sequence[Ellipsoid] = ()

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
        kind = type(estimator).__name__
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(
                f"estimator must be a fitted classifier; {kind} has no predict."
            )
        numbers = f"{kind} predicts numbers, which have no decision regions"
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
        **options : options of the contours
        """
        ax, n, (low, high) = style.new_axes(ax), len(self.regions), self.bounds
        tints = [*style.class_tints(len(self.classes)), (1.0, 1.0, 1.0)]  # -1, no class, is white
        half = (high - low) / (n - 1) / 2
        extent: Any = np.stack([low - half, high + half]).T.ravel()
        look: Any = {"origin": "lower", "interpolation": "nearest", "extent": extent}
        ax.imshow(np.array(tints)[self.regions], **look)
        x, y = np.linspace(low, high, n).T
        for code in np.unique(self.regions[self.regions >= 0]):
            side = np.ma.masked_where(self.regions < 0, (self.regions == code).astype(float))
            if not side.all():
                look = {"colors": "black", "linewidths": 1.0} | options
                ax.contour(x, y, side, levels=[0.5], **look)
        if show_points and self.X is not None:
            style.draw_points(ax, self.X, self.y, self.classes)
            if legend and self.y is not None:
                style.draw_legend(ax)
        return self._finish(ax, self.domains, self.bounds, names=self.names, padding=0.0)
