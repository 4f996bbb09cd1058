"""Are dissimilarities curved? Curved maps against flat ones, on pairs that none of them has seen.

Flat maps may have more dimensions, or stretch dissimilarities by a power: noise, distances along
axes or along a graph, and dimensions that are missing all look like curvature to a single flat map.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cayleyklein._typing import Bools, Floats
from cayleyklein.curvature import limits, profiles
from cayleyklein.curvature.verdicts import Margin, Word, shown
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import CurvedMDS, scaling

# Dimensions more than the curved map has, and powers. Distances along axes are those of a flat map
# of roots in many dimensions; with few points the power 0.7 and three dimensions more do better.
FLAT_MAPS = (
    (0, 1.0),
    (1, 1.0),
    (2, 1.0),
    (3, 1.0),
    (0, 0.5),
    (0, 0.7),
    (0, 1.4),
    (1, 0.5),
    (2, 0.85),
    (3, 0.7),
)


@dataclass(frozen=True)
class MapVerdict:
    """What comparing a curved map with flat ones says."""

    word: str
    sign: int
    margin: Margin

    @property
    def geometry(self) -> str:
        return shown(self.sign) if self.word == "curved" else "flat"

    @property
    def sentence(self) -> str:
        """Say what was found, and why."""
        rival = self.margin.rival
        if self.word == "curved":
            return (
                f"curved, {shown(self.sign)}: no flat map predicts held-out dissimilarities as "
                f"well; the closest is {rival}"
            )
        return f"no evidence of curvature: {rival} predicts held-out dissimilarities about as well"


def profile_of(
    X: Any, r: int, rng: np.random.RandomState
) -> tuple[scaling.StressProfile, profiles.Profile, float, tuple[float, float]]:
    """Return the stress over K of a map, its profile, and where that should be explored."""
    mds = CurvedMDS(r, metric="precomputed", random_state=rng)
    stress = scaling.StressProfile(fit_quietly(mds, X))
    if stress.freedom < 1:
        few = f"X has {len(stress.v)} rows, which a map in {r} dimensions always fits"
        raise InvalidInputError(f"{few}; pass more, or a smaller n_components.")
    variance, inflation = stress.uncertainty()
    low, high = stress.bounds
    # four standard errors of K to either side
    reach = (high - low) * float(np.clip(4.0 * np.sqrt(variance) / (high - low), 1e-6, 1.0))
    K = float(np.clip(stress.K, low, high))

    def search(K: float, near: Floats | None) -> tuple[float, Floats]:
        found, v = stress.log_likelihood(K, stress.v if near is None else near)
        return found / inflation, v

    return stress, profiles.Profile(search), K, (max(K - reach, low), min(K + reach, high))


def fit_quietly(mds: CurvedMDS, D: Any) -> CurvedMDS:
    """Fit without warnings; the verdict covers what they would say."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The curvature is undetermined")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        return mds.fit(D)


def judge_maps(
    D: Floats, r: int, interval: tuple[float, float], rng: np.random.RandomState
) -> MapVerdict:
    """Compare maps of dissimilarities D (n, n), NaN where missing; `interval` is that of K."""
    if len(D) > limits.JUDGED:
        some = np.sort(rng.choice(len(D), limits.JUDGED, replace=False))
        D = D[np.ix_(some, some)]
    pairs = np.triu_indices(len(D), 1)
    gains: dict[str, list[Floats]] = {}
    for _ in range(2):  # divisions of the pairs into known ones and held-out ones
        held = np.zeros(D.shape, dtype=bool)
        held[pairs] = rng.uniform(size=len(pairs[0])) < 0.15
        held = (held | held.T) & ~np.isnan(D)
        curved = errors_of(D, held, r, "learned", 1.0, rng)
        for name, n_components, power in flat_maps(r):
            errors = errors_of(D, held, n_components, 0.0, power, rng)
            gains.setdefault(name, []).append(np.where(held, errors - curved, 0.0))
    margins: dict[str, float] = {}
    for name, found in gains.items():
        margins[name] = pairs_in_standard_errors(np.mean(found, axis=0))
    rival = min(margins, key=margins.__getitem__)
    low, high = interval
    sign = 1 if low > 0 else -1 if high < 0 else 0
    clear = margins[rival] > 2.0  # standard errors of the gain over every flat map; not varied
    word: Word = "curved" if clear and sign else "no evidence"
    return MapVerdict(word, sign, Margin(rival, np.nan, np.nan, margins[rival]))


def flat_maps(r: int) -> Iterator[tuple[str, int, float]]:
    """Return names, dimensions and powers of flat maps."""
    for more, power in FLAT_MAPS:
        name = f"a flat map in {r + more} dimension{'s' * (r + more > 1)}"
        if power != 1:
            name += f" of dissimilarities to the power {power:g}"
        yield name, r + more, power


def errors_of(
    D: Floats,
    held: Bools,
    r: int,
    curvature: float | str,
    power: float,
    rng: np.random.RandomState,
) -> Floats:
    """Return squared errors (n, n) of a map that has not seen the pairs held out."""
    known = ~held & ~np.isnan(D)
    np.fill_diagonal(known, False)
    seed = int(rng.randint(2**31))
    mds = CurvedMDS(r, curvature=curvature, n_init=1, metric="precomputed", random_state=seed)
    fit_quietly(mds, np.where(held, np.nan, D) ** power)
    predicted = mds.distances_ ** (1 / power)
    scale = float((predicted * D)[known].sum() / np.square(predicted[known]).sum() or 1.0)
    return np.square(np.where(np.isnan(D), 0.0, D) - scale * predicted)


def pairs_in_standard_errors(gains: Floats) -> float:
    """Return the sum of a symmetric matrix of gains in standard errors; pairs of a row depend."""
    rows = gains.sum(axis=1)
    used = gains != 0
    mean = gains[used].mean() if used.any() else 0.0
    centred = np.where(used, gains - mean, 0.0)
    variance = np.square(centred.sum(axis=1)).sum() - np.square(centred).sum() / 2
    return float(rows.sum() / 2 / np.sqrt(variance)) if variance > 0 else 0.0
