"""Plane sections of a metric: the plane that a picture shows, and what an estimator has to show.

On the plane x = o + Bt of a curved metric the form is S = 1 + K ⟨z_p, z_q⟩ with
z = L(o - μ) + LBt. The part of z that is orthogonal to LB does not change there, and adds a
constant: S = c (1 + K ⟨z', z'⟩), with c = 1 + K ‖z⊥‖². Distances do not depend on c, so the section
is a curved metric of the same K.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import as_points, expect, refuse_huge
from cayleyklein.diagrams import domains
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.metrics import CurvedMetric, FormMetric, MixedMetric, ProductMetric, SphereMetric
from cayleyklein.metrics.combined import Metric, first_term
from cayleyklein.plotting import outlines


class Section(NamedTuple):
    origin: Floats  # the plane is origin + basis t
    basis: Floats
    chart: Floats  # rows are projected to t = chart (x - origin)
    names: tuple[str, str]

    def project(self, X: Floats) -> Floats:
        return np.asarray((X - self.origin) @ self.chart.T)

    def embed(self, t: Floats) -> Floats:
        return np.asarray(self.origin + t @ self.basis.T)

    def restrict(self, metric: Metric) -> Metric:
        if not isinstance(metric, CurvedMetric | FormMetric):
            if isinstance(metric, SphereMetric):
                raise NotRepresentableError("A SphereMetric has no plane sections.")
            parts: list[Any] = [self.restrict(part) for part in metric.metrics]
            if isinstance(metric, MixedMetric):
                return MixedMetric(parts, metric.weights)
            return ProductMetric(parts, metric.units)
        if isinstance(metric, FormMetric):
            points = np.vstack([np.column_stack([self.basis, self.origin]), [0.0, 0.0, 1.0]])
            form = points.T @ metric.form @ points
            if np.linalg.eigvalsh(form[:2, :2])[0] <= 0:
                raise NotRepresentableError(
                    f"The domain of the metric is no ellipse in the plane of {self.names[0]} and "
                    f"{self.names[1]}, and this picture needs one. CayleyKleinLMNN("
                    f'domain="ellipsoid") learns metrics that have one.'
                )
            found = CurvedMetric.from_form(form)
            unit = found.curvature / metric.curvature  # a form is given up to a factor
            return CurvedMetric(
                matrix=unit * found.matrix, center=found.center, curvature=metric.curvature
            )
        z = metric.factor @ (self.origin - metric.center)
        Q, R = np.linalg.qr(metric.factor @ self.basis)
        plane = f"the plane of {self.names[0]} and {self.names[1]}"
        if R.shape != (2, 2) or np.linalg.matrix_rank(R) < 2:
            advice = 'choose other features, or features="pca".'
            raise NotRepresentableError(f"The metric is 0 between some points of {plane}; {advice}")
        inside = Q.T @ z
        c = 1 + metric.curvature * float(z @ z - inside @ inside)
        if c <= 0:
            raise NotRepresentableError(f"The section misses the domain of the metric: {plane}.")
        center = -linalg.solve_triangular(R, inside)
        return CurvedMetric(factor=R / np.sqrt(c), center=center, curvature=metric.curvature)


def column_names(names: Any, d: int, X: Any = None) -> list[str]:
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        return [f"$x_{{{i + 1}}}$" for i in range(d)]
    listed = not isinstance(names, str) and np.iterable(names)
    expect(listed, "feature_names", names, "a sequence of names")
    texts = [str(name) for name in names]
    each = f"one name for each of the {d} columns in X"
    expect(len(texts) == d, "feature_names of length", len(texts), each)
    return texts


def choose_section(metric: Metric, X: Floats | None, features: Any, names: Any = None) -> Section:
    """Return the plane of two columns, or the principal plane ("pca"), through the mean of X.

    Without rows it goes through the centre of the metric, and "pca" is the plane of the longest
    axes.
    """
    d = metric.dimension
    if X is None:
        part = outlines.centred_part(metric)
        middle = part.center
    else:
        first = first_term(metric)
        middle = X.mean(axis=0)
        if isinstance(first, FormMetric):  # the metric of small steps from the middle
            first = CurvedMetric(matrix=first.tensor(middle))
        part = first
    names = column_names(names, d)
    if d < 2:
        raise InvalidInputError(f"A picture needs two columns or more; got {d} in X.")
    if features is None:
        features = (0, 1) if d == 2 or X is None else "pca"
    if isinstance(features, str):
        expect(features == "pca", "features", features, 'two columns, or "pca"')
        z = part.factor.T if X is None else (X - middle) @ part.factor.T
        V = np.linalg.svd(z, full_matrices=False)[2][:2]
        basis = np.linalg.pinv(part.factor) @ V.T
        chart = V @ part.factor
        return Section(middle, basis, chart, ("$z_1$", "$z_2$"))
    given = features if np.iterable(features) else [features]
    found = [names.index(f) if f in names else f for f in given]
    are_columns = all(isinstance(k, int | np.integer) and 0 <= k < d for k in found)
    valid = are_columns and len(found) == len(set(found)) == 2
    expect(valid, "features", features, f"two different columns, by name or by index below {d}")
    i, j = found
    basis = np.eye(d)[:, [i, j]]
    origin = np.where(basis.any(axis=1), 0.0, middle)
    return Section(origin, basis, basis.T, (names[i], names[j]))


def rows_and_labels(X: ArrayLike, y: Any, d: int | None = None) -> tuple[Floats, AnyArray | None]:
    rows = as_points(X, "X", d, ndim=2)
    refuse_huge(rows, "X")
    if y is None:
        return rows, None
    domains.encode_labels(y, len(rows), "y")
    return rows, np.asarray(y)


def expect_metric(metric: Any) -> None:
    kinds = "a CurvedMetric, MixedMetric or ProductMetric"
    drawn = isinstance(metric, Metric) and not isinstance(metric, SphereMetric)
    expect(drawn, "metric", metric, kinds)


def table_like(X: Any, rows: Floats) -> Any:
    if not hasattr(X, "columns"):
        return rows
    if hasattr(X, "iloc"):  # pandas, whose names may repeat
        return type(X)(rows, columns=X.columns)
    return type(X)(dict(zip(X.columns, rows.T, strict=True)))


def find_metric(estimator: Any, X: Any) -> tuple[Metric | None, Any]:
    """Return an estimator's ``metric_`` or ``metric``, or a step's, and the rows it sees."""
    for place, (_, step) in enumerate(getattr(estimator, "steps", ((None, estimator),))):
        for name in ("metric_", "metric"):
            metric = getattr(step, name, None)
            if isinstance(metric, Metric):
                return metric, estimator[:place].transform(X) if place else X
    return None, X


def shown_metric(estimator: Any, X: Any) -> tuple[Metric, Any, Sequence[str] | None]:
    """Return an estimator's metric, the rows that reach it, and the names of their columns."""
    metric, rows = find_metric(estimator, X)
    if metric is None:
        advice = "pass a fitted learner such as CurvedLMNN, or a fitted pipeline that holds one."
        raise InvalidInputError(f"estimator, a {type(estimator).__name__}, has no metric: {advice}")
    names = getattr(estimator, "feature_names_in_", ())
    return metric, rows, names if len(names) == metric.dimension else None
