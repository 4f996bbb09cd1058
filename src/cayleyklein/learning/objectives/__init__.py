"""Objectives: functions of distances with gradients in (L, μ, K), one file each.

A new objective is a new file here: a class that is called with a metric and returns an
:class:`Evaluation`, and a :class:`Recipe` that poses it. It asks :class:`LiftedRows` for the
squared chords of some pairs and tells it how the loss changes with each; curvature is dealt with
there.
"""

from cayleyklein.learning.objectives._comparisons import ComparisonRecipe, Comparisons
from cayleyklein.learning.objectives._kernel_regression import KernelRecipe, KernelRegression
from cayleyklein.learning.objectives._large_margin import (
    LargeMargin,
    LargeMarginRecipe,
    nearest_of_class,
)
from cayleyklein.learning.objectives._lifted import (
    DOMAIN_EDGE,
    LiftedRows,
    Parameters,
    distance_power,
)
from cayleyklein.learning.objectives._recipe import Evaluation, Objective, Recipe
from cayleyklein.learning.objectives._search import NearestRows, blocks_of

__all__ = [
    "DOMAIN_EDGE",
    "ComparisonRecipe",
    "Comparisons",
    "Evaluation",
    "KernelRecipe",
    "KernelRegression",
    "LargeMargin",
    "LargeMarginRecipe",
    "LiftedRows",
    "NearestRows",
    "Objective",
    "Parameters",
    "Recipe",
    "blocks_of",
    "distance_power",
    "nearest_of_class",
]
