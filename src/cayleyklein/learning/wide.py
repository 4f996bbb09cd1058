"""Tables with many more columns than rows: weigh the columns, and learn on few components."""

from dataclasses import replace

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.rows import TrainingRows, principal_axes

COLUMNS_PER_ROW = 2  # d/n above which a table counts as wide; below it weights did not help
ROWS_PER_COMPONENT, FEWEST_COMPONENTS = 4, 10


def focus(init: str, rows: TrainingRows, *others: TrainingRows) -> tuple[TrainingRows, ...]:
    """Return labelled rows, and others in the same coordinates, on weighted components.

    Only for wide tables and the default start. Most columns of such a table, as of gene expression,
    are noise, and equal weights drown the others. So columns are weighted by what they tell of the
    classes, and the metric is learned on the leading principal components.
    """
    wide = rows.basis is not None and len(rows.mean) > COLUMNS_PER_ROW * len(rows)
    if not wide or init != "std" or rows.targets is not None:
        return rows, *others
    assert rows.basis is not None
    columns = rows.X @ rows.basis
    weights = column_weights(columns, rows)
    most = max(FEWEST_COMPONENTS, len(rows) // ROWS_PER_COMPONENT)
    axes = principal_axes(columns * weights, most)
    map_ = (rows.basis * weights) @ axes.T
    with np.errstate(divide="ignore"):
        scale = rows.scale / weights
    return tuple(
        replace(some, X=some.X @ map_, scale=scale, basis=axes) for some in (rows, *others)
    )


def column_weights(columns: Floats, rows: TrainingRows) -> Floats:
    """Return √(η²/(1 - η²)) of standardised columns (n, d); their squares are 1 on average.

    η² is the share of a column's variance that lies between class means.
    """
    shares = rows.shares
    mass = np.bincount(rows.labels, weights=shares)
    means = np.zeros((len(mass), columns.shape[1]))
    np.add.at(means, rows.labels, shares[:, None] * columns)
    middle = means.sum(axis=0)
    means /= np.where(mass > 0, mass, 1.0)[:, None]
    total = shares @ (columns - middle) ** 2
    between = mass @ (means - middle) ** 2
    within = np.maximum(total - between, total / len(rows))
    ratio = np.divide(between, within, out=np.zeros_like(total), where=total > 0)
    average = ratio.mean()
    return np.sqrt(ratio / average) if average > 0 else np.ones_like(ratio)
