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

from dataclasses import dataclass

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry.projective._absolute import Absolute


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
    >>> from cayleyklein.geometry import PLANAR_GEOMETRIES
    >>> [geometry.name for geometry in PLANAR_GEOMETRIES][-3:]
    ['Euclidean', 'pseudo-Euclidean', 'Galilean']
    >>> len({kinds for geometry in PLANAR_GEOMETRIES for kinds in geometry.measurements})
    9
    >>> PLANAR_GEOMETRIES[0].conic
    'non-degenerate complex conic'
    """

    name: str
    matrix_signs: tuple[int, int, int]
    dual_signs: tuple[int, int, int]
    conic: str
    measurements: tuple[tuple[str, str], ...]


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


def classify(absolute: Absolute) -> PlanarGeometry:
    """Return the type of a planar absolute, one of :data:`PLANAR_GEOMETRIES` (paper §2.2).

    The signs of A and of A^Δ each count up to a common factor.

    Raises
    ------
    NotRepresentableError
        When the absolute is not planar.

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


def _signs(counts: tuple[int, int, int]) -> tuple[int, ...]:
    negative, zero, positive = counts
    return (1,) * max(negative, positive) + (-1,) * min(negative, positive) + (0,) * zero
