"""Mean targets: what many categories become, and what tells codes from quantities."""

import re
from typing import Any

import numpy as np
from scipy.special import fdtrc

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import require

# Up to this many categories have a number each; of more, each becomes its mean target, where there
# is a target and that is fewer numbers.
FEW_LEVELS = 4
FEWEST_ROWS = 20  # rows from which means of targets are taken
MEAN_FOLDS = 5
CODE_NAME = re.compile(
    r"(.*[\W_])?(codes?|zip|zipcode|postcode|postal|plz|fips|naics|sic|icd\d*)([\W_].*)?", re.I
)
FEWEST_CODES, MOST_CODES, ROWS_PER_CODE = 4, 50, 10
SURE = 1e-6  # p-value below which an order that says nothing is no accident
MUCH = 0.02  # share of the target's variance that codes tell beyond their order


def weighted_median(values: AnyArray, weights: Floats) -> float:
    """Return the median of values, each repeated by its weight."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    places = [np.searchsorted(total, total[-1] / 2, side) for side in ("left", "right")]
    return float(np.mean(values[order[np.minimum(places, len(order) - 1)]]))


def row_count(weights: Floats) -> float:
    """Return the number of rows: a weight of twice the least is two, where weights are counts."""
    counts = weights / weights.min()
    whole = np.allclose(counts, np.rint(counts), rtol=1e-9)
    return float(counts.sum()) if whole else float(len(weights))


def as_numbers(y: AnyArray) -> Floats:
    """Return targets (n, t): numbers, or indicators of classes, of two classes one."""
    if y.dtype.kind == "f":
        return y.reshape(len(y), -1)
    classes, codes = np.unique(y, return_inverse=True)
    every = np.arange(int(len(classes) == 2), len(classes))
    return np.asarray(codes[:, None] == every, dtype=np.float64)


def pays_to_average(n_levels: int, targets: Floats | None) -> bool:
    """Say whether mean targets are fewer numbers than one for each category."""
    some = targets is not None and len(targets) >= FEWEST_ROWS
    return some and n_levels > max(FEW_LEVELS, targets.shape[1])  # type: ignore[union-attr]


def _group_means(codes: Ints, values: Floats, weights: Floats, n_groups: int = 0) -> Floats:
    sums = [np.bincount(codes, weights * column, n_groups) for column in values.T]
    return np.column_stack(sums) / np.bincount(codes, weights, n_groups)[:, None]


def category_means(codes: Ints, targets: Floats, weights: Floats, n_levels: int) -> Floats:
    """Return the mean targets (n_levels + 1, t) of each category, and at the end of all rows.

    Means are drawn to that of all rows, the more the fewer rows a category has and the more their
    targets vary (scikit-learn's ``TargetEncoder(smooth="auto")``, with weights).
    """
    share = weights / weights.sum()
    mean = share @ targets
    variance = share @ (targets - mean) ** 2
    size = np.bincount(codes, weights, n_levels)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        own = _group_means(codes, targets, weights, n_levels)
        within = _group_means(codes, (targets - own[codes]) ** 2, weights, n_levels)
        trust = variance * size / (variance * size + within)
        levels = np.where(np.isfinite(trust), trust * own + (1 - trust) * mean, mean)
    return np.vstack([levels, mean])


def folds_of(table: Any, targets: Floats, weights: Floats) -> Ints:
    """Return the fold of each row, whatever the order of the rows; -1 for rows of weight 0."""
    hashes = require("pandas", "cli").util.hash_pandas_object(table, index=False).to_numpy()
    order = np.lexsort((hashes, *targets.T[::-1], weights == 0))
    folds = np.empty(len(table), dtype=np.int64)
    folds[order] = np.arange(len(table)) % MEAN_FOLDS
    return np.where(weights > 0, folds, -1)


def means_of_others(
    codes: Ints, targets: Floats, weights: Floats, n_levels: int, folds: Ints
) -> Floats:
    """Return the mean targets (n, t) of each row's category in the other folds.

    So a row does not tell its own target. Rows of weight 0 have the means of all rows.
    """
    found = np.empty_like(targets)
    for fold in range(-1, MEAN_FOLDS):
        mine = folds == fold
        others = np.where(mine, 0.0, weights)
        if mine.any() and others.any():
            found[mine] = category_means(codes, targets, others, n_levels)[codes[mine]]
    return found


def look_like_codes(name: str, numbers: Floats, targets: Floats | None, weights: Floats) -> bool:
    """Say whether whole numbers seem to name categories.

    By their name, or because their means of the target tell more than a parabola through them: by
    an F-test, and by much.
    """
    known = ~np.isnan(numbers)
    numbers, weights = numbers[known], weights[known]
    if len(numbers) < FEWEST_ROWS or (numbers != np.rint(numbers)).any():
        return False
    levels, codes = np.unique(numbers, return_inverse=True)
    if len(levels) < FEWEST_CODES:
        return False
    if CODE_NAME.fullmatch(re.sub("([a-z])([A-Z])", r"\1_\2", name)):
        return True
    n, k = row_count(weights), len(levels)
    if targets is None or k > MOST_CODES or n < ROWS_PER_CODE * k:
        return False
    curve, root = (
        np.vander((numbers - numbers.mean()) / numbers.std(), 3),
        np.sqrt(weights)[:, None],
    )
    targets = targets[known]
    rest = targets - curve @ np.linalg.lstsq(root * curve, root * targets, rcond=None)[0]
    left = rest - _group_means(codes, rest, weights)[codes]
    unexplained, smaller = weights @ rest**2, weights @ left**2
    total = weights @ (targets - weights @ targets / weights.sum()) ** 2
    gained = unexplained - smaller
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gained / (k - 3) / (smaller / (n - k))
    return bool(((gained > MUCH * total) & (fdtrc(k - 3, n - k, ratio) < SURE)).any())
