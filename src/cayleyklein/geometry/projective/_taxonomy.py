"""The planar Cayley-Klein geometries: seven by their conics, nine by their measurements.

A conic with its dual is of one of seven types (paper §2.2, table of the taxonomy). On the other
hand the distance on a line is of one of three kinds, elliptic, parabolic or hyperbolic, and so is
the angle in a pencil, which makes nine geometries. Both counts are right: a real conic carries
three of the nine, and every other type carries one.

- Around a point inside a real conic no tangent passes (angles are elliptic), and every line meets
  it (distances are hyperbolic): hyperbolic geometry.
- Through a point outside pass two tangents (angles are hyperbolic). Lines between them that
  meet the conic have hyperbolic distances: doubly hyperbolic geometry. Lines that miss it
  have elliptic distances: dual hyperbolic geometry.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats, Texts
from cayleyklein._validation import as_points, at_index, broadcast_points
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry.projective._absolute import (
    ON_ABSOLUTE,
    Absolute,
    MeasurementKind,
    adjugate,
    kind_of,
)
from cayleyklein.geometry.projective._measures import homogenize, sign_of

Kinds = tuple[MeasurementKind, MeasurementKind]


@dataclass(frozen=True)
class PlanarGeometry:
    """One of the seven types of planar Cayley-Klein geometry.

    Attributes
    ----------
    name : str
    matrix_signs : tuple of int
        The signs of the eigenvalues of A, up to a common sign.
    dual_signs : tuple of int
        The signs of the eigenvalues of A^Δ, up to a common sign.
    conic : str
        Description of the absolute in the projective plane.
    measurements : tuple of (str, str)
        The kinds of distance and angle that occur away from isotropic lines and points.

    Examples
    --------
    >>> from cayleyklein.geometry import MEASUREMENT_GEOMETRIES, PLANAR_GEOMETRIES
    >>> [geometry.name for geometry in PLANAR_GEOMETRIES][-3:]
    ['Euclidean', 'pseudo-Euclidean', 'Galilean']
    >>> len(PLANAR_GEOMETRIES), len(MEASUREMENT_GEOMETRIES)
    (7, 9)
    >>> PLANAR_GEOMETRIES[0].conic
    'non-degenerate complex conic'
    """

    name: str
    matrix_signs: tuple[int, int, int]
    dual_signs: tuple[int, int, int]
    conic: str
    measurements: tuple[Kinds, ...]


PLANAR_GEOMETRIES: tuple[PlanarGeometry, ...] = (
    PlanarGeometry("elliptic", (1, 1, 1), (1, 1, 1), "non-degenerate complex conic",
                   (("elliptic", "elliptic"),)),
    PlanarGeometry("hyperbolic", (1, 1, -1), (1, 1, -1), "non-degenerate real conic",
                   (("hyperbolic", "elliptic"), ("hyperbolic", "hyperbolic"),
                    ("elliptic", "hyperbolic"))),
    PlanarGeometry("dual Euclidean", (1, 1, 0), (1, 0, 0),
                   "two complex lines with a real intersection point",
                   (("elliptic", "parabolic"),)),
    PlanarGeometry("dual pseudo-Euclidean", (1, -1, 0), (1, 0, 0),
                   "two real lines with a double real intersection point",
                   (("hyperbolic", "parabolic"),)),
    PlanarGeometry("Euclidean", (1, 0, 0), (1, 1, 0),
                   "two complex points with a double real line passing through",
                   (("parabolic", "elliptic"),)),
    PlanarGeometry("pseudo-Euclidean", (1, 0, 0), (1, -1, 0),
                   "two real points with a double real line passing through",
                   (("parabolic", "hyperbolic"),)),
    PlanarGeometry("Galilean", (1, 0, 0), (1, 0, 0),
                   "double real line with a real intersection point",
                   (("parabolic", "parabolic"),)),
)  # fmt: skip
"""The table of the paper (§2.2), in its order.

Corrected: the dual of the dual Euclidean absolute has signs (+, 0, 0), and the two points of the
pseudo-Euclidean one are real.
"""

MEASUREMENT_GEOMETRIES: Mapping[Kinds, str] = MappingProxyType(
    {
        ("elliptic", "elliptic"): "elliptic",
        ("parabolic", "elliptic"): "Euclidean",
        ("hyperbolic", "elliptic"): "hyperbolic",
        ("elliptic", "parabolic"): "dual Euclidean",
        ("parabolic", "parabolic"): "Galilean",
        ("hyperbolic", "parabolic"): "dual pseudo-Euclidean",
        ("elliptic", "hyperbolic"): "dual hyperbolic",
        ("parabolic", "hyperbolic"): "pseudo-Euclidean",
        ("hyperbolic", "hyperbolic"): "doubly hyperbolic",
    }
)
"""The nine geometries by (kind of distance, kind of angle); the last is also called de Sitter."""


def classify(absolute: Absolute) -> PlanarGeometry:
    """Return the type of a planar absolute, one of :data:`PLANAR_GEOMETRIES` (paper §2.2).

    The signs of A and of A^Δ each count up to a common factor.

    Raises
    ------
    NotRepresentableError
        When the absolute is not planar, or does not determine its dual.

    Examples
    --------
    >>> import numpy as np
    >>> from cayleyklein.geometry import Absolute, classify
    >>> classify(Absolute(np.diag([1, 1, -1]))).name
    'hyperbolic'
    >>> classify(Absolute(np.diag([1, 1, 0]))).name
    'dual Euclidean'

    A double line carries three geometries, which the dual tells apart:

    >>> classify(Absolute(np.diag([0, 0, 1]), dual=np.diag([1, 1, 0]))).name
    'Euclidean'
    >>> classify(Absolute(np.diag([0, 0, 1]), dual=np.diag([1, 0, 0]))).name
    'Galilean'
    """
    if not isinstance(absolute, Absolute):
        raise InvalidInputError(f"absolute must be an Absolute; got {type(absolute).__name__}.")
    if absolute.dimension != 2:
        raise NotRepresentableError(
            f"The taxonomy is of planar geometries, but this absolute has dimension "
            f"{absolute.dimension}."
        )
    signs = _signs(absolute.signature), _signs(absolute.dual_signature)
    for geometry in PLANAR_GEOMETRIES:
        if signs == (geometry.matrix_signs, geometry.dual_signs):
            return geometry
    raise NotRepresentableError(  # an ill-conditioned pair, where the tolerances disagree
        f"The signs {signs[0]} of the matrix and {signs[1]} of its dual belong to no planar "
        f"geometry; an eigenvalue is too close to zero to tell its sign."
    )


def measurement_geometry(absolute: Absolute, p: ArrayLike, q: ArrayLike) -> Texts:
    """Return the geometry, of the nine, at the points p along the lines pq.

    Distances are measured on the line pq, angles in the pencil of lines through p.

    Parameters
    ----------
    absolute : Absolute
        Planar.
    p, q : array-like of shape (..., 2)

    Returns
    -------
    ndarray of str, of shape (...)
        Values of :data:`MEASUREMENT_GEOMETRIES`.

    Raises
    ------
    NotRepresentableError
        Where p is on the absolute or pq is isotropic (tangent to it): such lines belong to
        none of the nine.

    Examples
    --------
    >>> import numpy as np
    >>> from cayleyklein.geometry import Absolute, measurement_geometry
    >>> conic = Absolute(np.diag([1, 1, -1]))
    >>> measurement_geometry(conic, [[0, 0], [2, 0], [2, 0]], [[1, 1], [3, 0], [2, 1]]).tolist()
    ['hyperbolic', 'doubly hyperbolic', 'dual hyperbolic']
    >>> plane = Absolute(np.diag([0, 0, 1]), dual=np.diag([1, 1, 0]))
    >>> str(measurement_geometry(plane, [0.0, 0.0], [1.0, 0.0]))
    'Euclidean'
    """
    expected = classify(absolute)
    p, q = broadcast_points(p=as_points(p, "p", 2), q=as_points(q, "q", 2))
    distances = np.asarray(absolute.distance_kind(p, q))
    angles = np.asarray(_pencil_kind(absolute.dual, p))
    names = np.full(distances.shape, "", dtype=object)
    for kinds in expected.measurements:
        names[(distances == kinds[0]) & (angles == kinds[1])] = MEASUREMENT_GEOMETRIES[kinds]
    isotropic = names == ""
    if isotropic.any():
        raise NotRepresentableError(
            f"The point p is on the absolute, or the line pq is isotropic (tangent to the "
            f"absolute){at_index(isotropic)}: it belongs to none of the nine geometries."
        )
    return names.astype(np.str_)[()]


def _signs(counts: tuple[int, int, int]) -> tuple[int, ...]:
    negative, zero, positive = counts
    return (1,) * max(negative, positive) + (-1,) * min(negative, positive) + (0,) * zero


def _pencil_kind(dual: Floats, p: Floats) -> Texts:
    # The determinant of B on the lines l ⟂ x̃ is x̃ᵀ adj(B) x̃ / |x̃|².
    form = np.asarray(adjugate(dual / np.abs(dual).max()), np.float64)
    return kind_of(-sign_of(form, homogenize(p), ON_ABSOLUTE))
