"""What a fit says when something was not as asked for."""

import warnings
from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cayleyklein.learning._data import Rows
from cayleyklein.learning._train import Result

__all__ = ["warn_of_limits", "warn_of_small_classes"]

TO_CALLER = 4  # frames between a warning here and the call of fit


def warn_of_small_classes(data: Rows, classes: NDArray[Any], wanted: int) -> None:
    """Name the classes with too few rows for the target neighbours that are wanted."""
    counts = data.class_sizes  # none where the last classes weigh nothing
    small = [c for c, n in zip(classes.tolist(), counts, strict=False) if 0 < n <= wanted]
    if small:
        warnings.warn(
            f"Classes {small} have fewer than {wanted + 1} distinct rows: they use the target "
            f"neighbours there are.",
            UserWarning,
            stacklevel=TO_CALLER,
        )


def warn_of_limits(result: Result, memory_budget: float, max_iter: int | str) -> None:
    """Say where memory or iterations ran out, or nothing beat plain neighbours."""
    if any(fit.budget_bitten for fit in result.fits):
        warnings.warn(
            f"memory_budget={memory_budget:g} binds: rows keep only their nearest impostors. Raise "
            f"it, or lower margin or max_impostors.",
            UserWarning,
            stacklevel=TO_CALLER,
        )
    if max_iter != "auto" and not all(fit.converged or fit.stopped for fit in result.fits):
        warnings.warn(
            f"The loss still falls after max_iter={max_iter} iterations; raise max_iter or tol, or "
            f'leave max_iter="auto", which stops early on purpose.',
            ConvergenceWarning,
            stacklevel=TO_CALLER,
        )
    if result.selection is not None and result.selection.chosen.endswith("k-NN"):
        warnings.warn(
            f"No learned metric beat plain {result.selection.chosen} on held-out rows; the metric "
            f"is that one. See selection_.",
            UserWarning,
            stacklevel=TO_CALLER,
        )
