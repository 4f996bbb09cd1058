"""How tree-like distances are: Gromov's δ.

Of four points, take the three sums of opposite distances. In a tree the two largest are equal; half
of what they differ by is the δ of the four, and the largest of all fours that of the space
(Gromov 1987). It is at most half of the largest distance, so that 2δ over the largest distance is
between 0 (a tree) and 1, in any unit.

The maximum over all fours is exact where it can be afforded: fours are taken by falling distance
of their pairs, and most need not be looked at (Cohen, Coudert and Lancin 2015). Where it cannot, a
sample gives a lower bound, and the largest δ of fours with one point in common, which takes n³
steps, an upper one: no space has more than twice that.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from cayleyklein import _validation as checks
from cayleyklein._typing import Ints
from cayleyklein.curvature import _gromov_kernels as kernels
from cayleyklein.geometry.space import refuse_at
from cayleyklein.neighbors.euclidean import even_rows

SEARCHED = 3 * 10**8  # fours looked at before the search for the exact maximum ends: about a second
BASED = 700  # most points for which the δ of fours with one in common is computed: n³ steps


@dataclass(frozen=True)
class GromovDelta:
    """Gromov's δ of distances, or what is known of it; made by :func:`gromov_delta`.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0.0]])
    >>> print(gromov_delta(square))  # a cycle of four edges is as far from a tree as can be
    δ = 1, 1 of what distances up to 2 allow (0: a tree, 1: the most), exactly; mean 1 of that
    """

    delta: float  #: Largest δ of the fours looked at; that of the space if `exact`.
    exact: bool  #: Whether no other four can have a larger one.
    bounds: tuple[float, float]  #: δ of the space is for certain between these.
    diameter: float  #: Largest distance.
    relative: float  #: 2δ over the diameter, from 0 (a tree) to 1.
    mean: float  #: Mean of 2δ over the diameter, of fours drawn at random.
    mean_interval: tuple[float, float]  #: 95% interval of that mean over all fours.
    exceeding: float  #: With 95% confidence at most this share of fours has a larger δ.
    worst: tuple[int, int, int, int]  #: Rows of four points with this δ.
    n_fours: int  #: Number of fours looked at.

    def __str__(self) -> str:
        low, high = (2 * bound / (self.diameter or 1.0) for bound in self.bounds)
        sure = "exactly" if self.exact else f"for certain between {low:.3g} and {high:.3g}"
        return (
            f"δ = {self.delta:.4g}, {self.relative:.3g} of what distances up to "
            f"{self.diameter:.4g} allow (0: a tree, 1: the most), {sure}; mean {self.mean:.3g} of "
            f"that"
        )


def gromov_delta(
    dissimilarity: ArrayLike, *, n_samples: int = 200_000, random_state: Any = None
) -> GromovDelta:
    """Return Gromov's δ: by how much distances differ from those of a tree.

    Parameters
    ----------
    dissimilarity : array-like of shape (n, n)
        Symmetric distances of n ≥ 4 points, 0 on the diagonal. For a graph, take
        :func:`cayleyklein.manifold.graph_distances`.
    n_samples : int, default=200_000
        Number of fours drawn at random, for the mean and where the exact maximum takes too long.
    random_state : int, RandomState or None, default=None
        Seed of the sample.

    Returns
    -------
    GromovDelta
        The δ, its bounds, and the mean over fours, in units that do not depend on the scale.

    Notes
    -----
    δ is a maximum: one bad four decides it, and a sample can only find it too small. The bounds
    hold for certain; `mean` and its interval are about typical fours. A small 2δ over the diameter
    says that a tree has nearly these distances, and hence a hyperbolic space of some curvature; it
    does not say which, nor in how many dimensions: K is in units of one over a squared distance,
    and the δ of hyperbolic space, log 2/√-K, is reached by distances much larger than 1/√-K only.
    :func:`estimate_curvature` with ``dissimilarity=`` asks whether a map in a given number of
    dimensions predicts distances better if it is curved, and by which K.

    Examples
    --------
    >>> from cayleyklein.manifold import graph_distances
    >>> tree = graph_distances([(i // 2, i) for i in range(2, 40)]).distances
    >>> gromov_delta(tree, random_state=0).relative
    0.0
    """
    D = checks.as_symmetric(dissimilarity, "dissimilarity")
    n = len(D)
    checks.expect(n > 3, "dissimilarity of shape", D.shape, "at least four points")
    diameter = float(D.max())
    refuse_at(D < 0, "dissimilarity is negative", "; distances are 0 or more.")
    off = np.diagonal(D) > 1e-10 * diameter
    refuse_at(off, "dissimilarity must be 0 on the diagonal, but is not", ".")
    count = checks.as_count(n_samples, "n_samples")
    checks.expect(count > 1, "n_samples", count, "at least 2")
    rng = check_random_state(random_state)
    fours = draw_fours(n, count, rng)
    gaps = kernels.gaps_of(D, fours)
    low, steps, worst = float(gaps.max()), count, fours[gaps.argmax()]
    found = np.zeros(4, dtype=np.intp)
    pairs = np.triu_indices(n, 1)
    order = np.argsort(-D[pairs], kind="stable")
    top, looked, exact = kernels.largest_gap(D, pairs[0][order], pairs[1][order], SEARCHED, found)
    if exact or top > low:
        low, worst = float(top), found
    high = diameter
    if exact:
        high = low
    elif n <= BASED:
        high = min(high, 2 * min(kernels.largest_gap_at(D, base) for base in even_rows(n, 4)))
    exact = bool(exact) or high <= low * (1 + 1e-12)
    unit = diameter or 1.0
    mean = float(gaps.mean()) / unit
    error = float(stats.t.ppf(0.975, count - 1) * gaps.std(ddof=1) / unit / math.sqrt(count))
    # no four of the sample beyond the largest: a share p would have shown with 1 - (1 - p)^count
    share = 0.0 if exact else -math.expm1(math.log(0.05) / count)
    return GromovDelta(
        delta=low / 2,
        exact=exact,
        bounds=(low / 2, high / 2),
        diameter=diameter,
        relative=low / unit,
        mean=mean,
        mean_interval=(max(mean - error, 0.0), min(mean + error, 1.0)),
        exceeding=share,
        worst=tuple(int(i) for i in worst),  # type: ignore[arg-type]
        n_fours=int(looked) + steps,
    )


def draw_fours(n: int, count: int, rng: np.random.RandomState) -> Ints:
    """Return fours (count, 4) of different points."""
    found = np.empty((0, 4), dtype=np.intp)
    while len(found) < count:
        drawn = rng.randint(n, size=(2 * count + 64, 4))
        ordered = np.sort(drawn, axis=1)
        found = np.vstack([found, drawn[(np.diff(ordered, axis=1) > 0).all(axis=1)]])
    return np.asarray(found[:count])
