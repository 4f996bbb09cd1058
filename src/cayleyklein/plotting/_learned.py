"""Pictures of learned things: metrics and decision regions."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.diagrams import domains as boxes
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, StrangeRowsWarning
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics.combined import Metric, terms_of
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.plotting import _plane, outlines, sections, shapes


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay(shapes.PlaneDisplay):
    """Decision regions of any classifier on a grid; :class:`VoronoiDisplay` has exact ones.

    Unlike scikit-learn's class of this name, which shows two columns and takes classifiers of two
    columns, it takes classifiers of any number of columns and draws the plane of two columns or
    two principal axes, leaves out what is outside the domain of a metric and draws the fundamental
    conic, and has regions of classes, not of scores: there is no ``response_method``.

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

    regions: Ints  #: Indices of classes on a grid over the bounds, (n, n); -1 outside the domain.
    classes: AnyArray  #: Classes in the order of their colours.
    bounds: Floats  #: The lower and the upper corner of the picture, shape (2, 2).
    X: Floats | None = None  #: Rows to show, shape (n, 2).
    y: AnyArray | None = None  #: Their classes, shape (n,).
    names: Sequence[str] = shapes.NAMES  #: Labels of the two axes.
    domains: Sequence[Ellipsoid] = ()  #: Fundamental conics.

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
    ) -> Self:
        """Compute the predictions of a fitted classifier on a grid over the rows.

        Parameters
        ----------
        estimator : any fitted object whose ``predict`` returns classes
            Outside the domain of its metric, or of that of a step, the picture is blank.
        X : array-like of shape (n, d)
            Rows. If it is a DataFrame, so are the rows that the estimator gets.
        y : array-like of shape (n,), optional
            Class of each row.
        features : pair of int or str, "pca" or None
            The plane: two columns, with the others at the mean of X, or the principal plane of the
            standardised columns. None is "pca" when d > 2.
        feature_names : sequence of str of length d, optional
            Names of the columns; by default those of a DataFrame.
        resolution : int, default=300
            Number of points of the grid along each axis, at least 2.
        """
        refusal = "estimator must be a classifier"
        kind = type(estimator).__name__
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(f"{refusal}; {kind} has no predict.")
        refusal += f"; {kind} predicts numbers, which have no decision regions."
        if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
            raise InvalidInputError(refusal)
        rows, classes_shown = sections.rows_and_labels(X, y)
        n, d = checks.as_count(resolution, "resolution"), rows.shape[1]
        checks.expect(n > 1, "resolution", n, "at least 2 points a side")
        what = f"A grid of {n:,} × {n:,} points of {d:,} columns"
        checks.check_memory(8.0 * n * n * (2 * d + 4), what, "Take a smaller resolution.")
        ruler = CurvedMetric(factor=standard_factor(rows))
        names = sections.column_names(feature_names, d, X)
        section = sections.choose_section(ruler, rows, features, names)
        shown = section.project(rows)
        bounds = boxes.box_around(shown)
        axes = np.linspace(bounds[0], bounds[1], n).T
        grid = section.embed(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
        table = sections.table_like(X, grid)
        metric, seen = sections.find_metric(estimator, table)
        inside = np.ones(len(grid), bool) if metric is None else metric.contains(np.asarray(seen))
        if not inside.any():
            raise InvalidInputError("No point of the grid over X lies in the domain of the metric.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrangeRowsWarning)  # a picture shows them on purpose
            found = np.asarray(estimator.predict(sections.table_like(X, grid[inside])))
        classes = np.asarray(getattr(estimator, "classes_", np.unique(found)))
        if not hasattr(estimator, "classes_") and found.dtype.kind == "f" and (found % 1).any():
            raise InvalidInputError(refusal)
        codes = np.full(len(grid), -1, dtype=np.intp)
        codes[inside] = np.searchsorted(classes, found)
        # the conic is drawn only if no step of a pipeline changes the rows before the metric
        conics: tuple[Ellipsoid, ...] = ()
        if metric is not None and seen is table and outlines.domains_of(metric):
            with suppress(
                NotRepresentableError
            ):  # if the factor has a lower rank it is a pair of lines
                conics = outlines.domains_of(section.restrict(metric))
        return cls(
            regions=codes.reshape(n, n),
            classes=classes,
            bounds=bounds,
            X=shown,
            y=classes_shown,
            names=section.names,
            domains=conics,
        )

    def plot(self, ax: shapes.Axes | None = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw regions, rows and a legend, in new axes by default; options are the contours'."""
        ax = shapes.new_axes(ax)
        n = len(self.regions)
        low, high = self.bounds
        tints = [
            *shapes.class_tints(len(self.classes)),
            (1.0, 1.0, 1.0),
        ]  # the last, for no class (-1), is white
        half = (high - low) / (n - 1) / 2
        extent: Any = np.stack([low - half, high + half]).T.ravel()
        image = np.array(tints)[self.regions]
        ax.imshow(image, origin="lower", interpolation="nearest", extent=extent)
        x, y = np.linspace(low, high, n).T
        look: Any = {"colors": "black", "linewidths": 1.0} | options
        for code in np.unique(self.regions[self.regions >= 0]):
            side = np.ma.masked_where(self.regions < 0, (self.regions == code).astype(float))
            if not side.all():
                ax.contour(x, y, side, levels=[0.5], **look)
        if self.X is not None:
            shapes.draw_points(ax, self.X, self.y, self.classes)
        legend = legend and self.X is not None and self.y is not None
        return self._finish(
            ax, self.domains, self.bounds, names=self.names, padding=0.0, legend=legend
        )


@dataclass(kw_only=True, eq=False, repr=False)
class MetricDisplay(shapes.PlaneDisplay):
    """A metric of the plane, or a plane section of one: its domain, equal balls, and K.

    Balls of one radius are on a lattice over the data; their size and shape show the metric.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    >>> display = MetricDisplay.from_estimator(learner, X, y, features=(2, 3))
    >>> display.metric  # on a plane it has the same curvature
    CurvedMetric(elliptic, d=2, K=1)
    >>> figure = MetricDisplay.from_metric(learner.metric_, lattice=3).plot().figure_
    """

    metric: Metric  #: A metric of the plane.
    balls: _plane.BallDisplay  #: Balls of one radius.
    X: Floats | None = None  #: Rows of data, shape (n, 2).
    y: AnyArray | None = None  #: Their labels, shape (n,).
    names: Sequence[str] = shapes.NAMES  #: Labels of the two axes.

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Show the metric of a fitted learner over its data, with options of :meth:`from_metric`.

        The estimator may be a Pipeline, whose steps before the learner are applied to X.
        """
        metric, rows, names = sections.shown_metric(estimator, X)
        return cls.from_metric(metric, rows, y, **({"feature_names": names} | options))

    @classmethod
    def from_metric(
        cls,
        metric: Metric,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        features: Sequence[Any] | str | None = None,
        feature_names: Sequence[str] | None = None,
        radius: float | None = None,
        lattice: int = 7,
    ) -> Self:
        """Compute the balls, on a plane section when the metric has more than two dimensions.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric
            Metric of d columns.
        X, y : array-like of shape (n, d) and (n,), optional
            Rows to draw, and the class of each.
        features : pair of int or str, "pca" or None
            The plane, which cuts the balls exactly: two columns, with the others at the mean of X
            or at the centre; or the principal plane of X, or of the metric, in its coordinates z.
            None is "pca" for X of d > 2, and else the first two columns.
        feature_names : sequence of str of length d, optional
            Names of the columns; x₁, x₂, … by default.
        radius : float, optional
            Radius of the balls; by default they nearly touch.
        lattice : int, default=7
            Number of balls along the longer side of the data.
        """
        sections.expect_metric(metric)
        rows = None
        classes = None
        if X is not None:
            rows, classes = sections.rows_and_labels(X, y, metric.dimension)
        section = sections.choose_section(metric, rows, features, feature_names)
        plane = section.restrict(metric)
        shown = None if rows is None else section.project(rows)
        centers, size = outlines.ball_lattice(plane, shown, checks.as_count(lattice, "lattice"))
        size = size if radius is None else checks.as_real(radius, "radius")
        balls = _plane.BallDisplay.from_metric(plane, centers, size)
        return cls(metric=plane, balls=balls, X=shown, y=classes, names=section.names)

    def plot(self, ax: shapes.Axes | None = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw balls, rows and a legend, in new axes by default; options are the scatter's."""
        ax = shapes.new_axes(ax)
        color = shapes.GEOMETRY_COLORS[self.metric.geometry]
        for shape in _plane.ball_shapes(self.balls, color, 0.1, 0.8):
            shapes.draw_shape(ax, shape)
        if self.X is not None:
            shapes.draw_points(ax, self.X, self.y, **({"s": 14} | options))
        domains = outlines.domains_of(self.metric)
        balls = compress(self.balls.outlines, self.balls.closed)
        near = outlines.bounds_of(self.balls.centers, *(balls if self.X is None else [self.X]))
        far = outlines.bounds_of(near, *outlines.edges_of(domains))
        distant = np.ptp(far, axis=0).max() > 3 * np.ptp(near, axis=0).max()
        if distant:  # the domain is drawn in a corner
            corner = ax.inset_axes((1.03, 0.72, 0.28, 0.28))
            shapes.draw_domains(corner, domains)
            patches = checks.require("matplotlib.patches", "plot")
            corner.add_patch(patches.Rectangle(near[0], *np.ptp(near, axis=0), fill=False, lw=0.8))
            corner.set(xticks=[], yticks=[], frame_on=False)
            shapes.finish_axes(corner, far, ("", ""))
        K = ", ".join(shapes.number(part.curvature, 3) for part, _ in terms_of(self.metric))
        title = f"{self.metric.geometry}, $K$ = {K}; balls of radius {self.balls.radii[0]:.2g}"
        legend = legend and self.y is not None
        shown = near if distant else far
        return self._finish(ax, domains, shown, names=self.names, title=title, legend=legend)
