"""Mean targets: what many categories become, and what tells codes from quantities."""

import re
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtrc

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import require

FEWEST_ROWS = 20  # rows from which means of targets are taken
MEAN_FOLDS = 5


def weighted_median(values: AnyArray, weights: Floats) -> float:
    """Return the median of values, each repeated by its weight."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    places = [np.searchsorted(total, total[-1] / 2, side) for side in ("left", "right")]
    return float(np.mean(values[order[np.minimum(places, len(order) - 1)]]))


class Observations(NamedTuple):
    """What rows of a table stand for.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        Weights in numbers of observations; their sum is how many there are.
    copies : int
        How often each pair of a row and its target is there again without telling anything: 2 in a
        table that is given twice.
    counted : bool
        Whether a row that is there again is evidence, as in a table of a few categories.
    """

    weights: Floats
    copies: int
    counted: bool


def observations(exact: AnyArray, targets: Floats | None, weights: Floats) -> Observations:
    """Return what rows stand for, which have `exact` hashes, targets (n, t) or none, and weights.

    Neither the unit of the weights nor a table that is given twice matters. Weights are numbers of
    observations if all are multiples of the least, and else each different row is one on average.
    Rows that are there again are evidence if most share their cells with other targets.
    """
    kept = weights > 0
    _, place = np.unique(exact[kept], return_inverse=True)
    code = np.zeros(len(place), dtype=np.intp)
    if targets is not None:
        code = np.unique(targets[kept], axis=0, return_inverse=True)[1].ravel()
    _, first, pair = np.unique(
        place * (int(code.max()) + 1) + code, return_index=True, return_inverse=True
    )
    counts = weights / weights[kept].min()
    whole = np.rint(counts)
    if not np.allclose(counts, whole, rtol=1e-9, atol=0) or whole.sum() > 100 * kept.sum():
        return Observations(weights * (len(first) / weights.sum()), 1, False)
    mass = np.bincount(pair, whole[kept])
    copies = int(np.gcd.reduce(mass.astype(np.int64)))
    shared = np.bincount(place[first])[place[first]] > 1
    counted = bool(2 * mass[shared].sum() > mass.sum())
    return Observations(whole / copies, copies, counted)


def hashes_of_rows(X: Floats) -> AnyArray:
    """Return numbers (n,) that are equal for equal rows of floats, which may be NaN."""
    cells = np.ascontiguousarray(np.where(np.isnan(X), np.nan, X + 0.0))  # +0 for -0
    rows = cells.view(np.dtype((np.void, cells.dtype.itemsize * cells.shape[1]))).ravel()
    return np.asarray(np.unique(rows, return_inverse=True)[1])


def as_numbers(y: AnyArray) -> Floats:
    """Return targets (n, t): numbers, or indicators of classes, of two classes one."""
    if y.dtype.kind == "f":
        Y = y.reshape(len(y), -1)
        largest = np.abs(Y).max(axis=0, initial=0.0)
        extreme = (largest > 1e150) | ((largest > 0) & (largest < 1e-150))
        # in units of a power of two, whose squares are floats
        return Y / np.exp2(np.floor(np.log2(np.where(extreme, largest, 1.0))))
    classes, codes = np.unique(y, return_inverse=True)
    every = np.arange(int(len(classes) == 2), len(classes))
    return np.asarray(codes[:, None] == every, dtype=np.float64)


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


def f_test(codes: Ints, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return p-values (t,) that the means of groups do not differ, and the variance they tell.

    Codes of groups are 0 to k - 1, each with rows. Weights are numbers of observations. A constant
    target has p = 1.
    """
    n, k = weights.sum(), int(codes.max()) + 1
    total = weights @ (targets - weights @ targets / weights.sum()) ** 2
    inside = weights @ (targets - _group_means(codes, targets, weights)[codes]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (total - inside) / (k - 1) / (inside / (n - k))
        told = (total - inside) / total
    return np.where(ratio > 0, fdtrc(k - 1, n - k, ratio), 1.0), told


def row_hashes(table: Any, weights: Floats) -> tuple[Any, Any]:
    """Return hashes that tell rows apart, and hashes to sort them by.

    The order depends neither on the order of rows and columns nor on copies of rows: each column
    has the sum of the hashes of its cells in the distinct rows of positive weight as its key.
    """
    hash_cells = require("pandas", "cli").util.hash_pandas_object
    try:
        exact = hash_cells(table, index=False).to_numpy()
    except TypeError:  # lists and other cells without a hash
        return row_hashes(table.astype(str), weights)
    some = np.flatnonzero(weights > 0)
    some = some[np.unique(exact[some], return_index=True)[1]]
    order = np.zeros(len(table), dtype=np.uint64)
    for name in table.columns:
        hashes = hash_cells(table[name], index=False).to_numpy()
        key = hashes[some].sum(dtype=np.uint64)
        order += (hashes ^ key) * np.uint64(0x9E3779B97F4A7C15)
    return exact, order


def folds_of(table: Any, targets: Floats, weights: Floats) -> Ints:
    """Return the fold of each row, whatever the order of the rows; -1 for rows of weight 0.

    Rows are dealt by their targets. Equal rows are dealt together, unless copies are evidence: then
    only copies that tell nothing are. Neither the names of classes nor a table that is given twice
    matters.
    """
    exact, drawn = row_hashes(table, weights)
    known = observations(exact, targets, weights)
    folds = np.full(len(table), -1)
    kept = np.flatnonzero(weights > 0)
    names, stratum = np.unique(targets[kept], axis=0, return_inverse=True)
    stratum = stratum.ravel()
    by_class = len(names) * MEAN_FOLDS <= known.weights.sum()
    if known.counted and by_class:
        folds[kept] = dealt(stratum, drawn[kept], known.copies, by_class)
        return folds
    keys = [stratum, exact[kept]] if known.counted else [exact[kept]]
    order = np.lexsort((*keys, drawn[kept]))
    begins = np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0))
    group = np.cumsum(begins) - 1
    lowest = np.minimum.reduceat(stratum[order], np.flatnonzero(begins))
    highest = np.maximum.reduceat(stratum[order], np.flatnonzero(begins))
    # a group of several targets is of a stratum of its own
    own = np.where(lowest == highest, lowest, len(names))
    folds[kept[order]] = dealt(own, drawn[kept[order[begins]]], 1, by_class)[group]
    return folds


def dealt(strata: Ints, drawn: AnyArray, together: int, by_class: bool) -> Ints:
    """Return the folds of rows, dealt by strata and hashes, so many `together`.

    Strata that are classes are dealt one by one, those that are numbers in their order.
    """
    order = np.lexsort((drawn, strata))
    rank = np.arange(len(order))
    if by_class:
        size = np.unique(strata, return_counts=True)[1]
        begin = np.cumsum(size) - size
        # each begins at another fold, whatever its name
        shift = (drawn[order[begin]] >> np.uint64(32)).astype(np.int64)
        rank = rank - np.repeat(begin, size) + np.repeat(shift * together, size)
    found = np.empty(len(order), dtype=np.int64)
    found[order] = rank // together % MEAN_FOLDS
    return found


def means_of_others(
    codes: Ints, targets: Floats, weights: Floats, n_levels: int, folds: Ints
) -> Floats:
    """Return the mean targets (n, t) of each row's category in the other folds.

    So a row does not tell its own target. Rows of weight 0 have the means of all rows, and if their
    category is unknown (the code -1) the mean of all.
    """
    unknown, found = codes < 0, np.empty_like(targets)
    codes = np.where(unknown, 0, codes)
    for fold in range(-1, MEAN_FOLDS):
        mine = folds == fold
        others = np.where(mine, 0.0, weights)
        if mine.any() and others.any():
            found[mine] = category_means(codes, targets, others, n_levels)[codes[mine]]
    found[unknown] = weights @ targets / weights.sum()
    return found


def look_like_codes(name: str, numbers: Floats, targets: Floats | None, weights: Floats) -> bool:
    """Say whether whole numbers seem to name categories.

    By their name, or because their order tells nothing: targets differ from number to number (by an
    F-test, and by much), and from one to the next as much as between any two.
    """
    known = ~np.isnan(numbers)
    numbers, weights = numbers[known], weights[known]
    if len(numbers) < FEWEST_ROWS or (numbers != np.rint(numbers)).any():
        return False
    levels, codes = np.unique(numbers, return_inverse=True)
    if len(levels) < 4:
        return False
    words = "codes?|zip|zipcode|postcode|postal|plz|fips|naics|sic|icd\\d*"
    snake_case = re.sub("([a-z])([A-Z])", r"\1_\2", name)
    if re.fullmatch(rf"(.*[\W_])?({words})([\W_].*)?", snake_case, re.IGNORECASE):
        return True
    n, k = weights.sum(), len(levels)
    if targets is None or k > 50 or n < 10 * k:  # too many codes, or too few rows of each
        return False
    p, told = f_test(codes, targets[known], weights)
    group, size = _group_means(codes, targets[known], weights), np.bincount(codes, weights)
    apart = ((group[:, None] - group) ** 2).sum(axis=2)
    share = np.outer(size, size) / np.add.outer(size, size)  # inverse variance of a difference
    follows, any_two = np.eye(k, k=1), np.triu(np.ones((k, k)), 1)
    near, far = (np.average(apart, weights=share * some) for some in (follows, any_two))
    # Differences that are not chance, tell 2 % of the target's variance, and have no order.
    differ = ((told > 0.02) & (p < 1e-6)).any()
    return bool(differ and near > 0.9 * far)
