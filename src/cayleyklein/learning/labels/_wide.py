"""Tables with many more columns than rows, such as gene expression.

There most columns are noise, and equal weights drown the others. Columns are weighted by how much
they tell of the classes, √(η²/(1 - η²)) with η² the share of a column's variance that lies between
class means (the F statistic of an analysis of variance, up to a factor), and the metric is learned
on the leading principal components of the weighted columns, one for each four rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning._rows import TrainingRows, principal_axes

COLUMNS_PER_ROW = 2
"""More columns than so many times the rows are wide; below it weights did not help."""

ROWS_PER_COMPONENT, FEWEST_COMPONENTS = 4, 10


def focus(init: str, rows: TrainingRows, *others: TrainingRows) -> tuple[TrainingRows, ...]:
    """Return rows, and others in the same coordinates, on components of weighted columns.

    As they are where they are not wide, or where the start `init` is not the default one.
    """
    wide = rows.basis is not None and len(rows.mean) > COLUMNS_PER_ROW * len(rows)
    if not wide or init != "std":
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
    """Return √(η²/(1 - η²)) of standardised columns (n, d); their squares are 1 on average."""
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
