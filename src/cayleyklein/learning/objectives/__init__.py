"""Objectives: functions of distances with gradients in (L, μ, K), one file each.

A new objective is a new file here: a class that is called with a metric and returns an
:class:`Evaluation`, and a :class:`Recipe` that poses it. It asks :class:`Placed` for the squared
chords of some pairs and tells it how the loss changes with each; curvature is dealt with there.
"""

from cayleyklein.learning.objectives._large_margin import (
    LargeMargin,
    LargeMarginRecipe,
    nearest_of_class,
)
from cayleyklein.learning.objectives._placed import DOMAIN_EDGE, Gradient, Parameters, Placed
from cayleyklein.learning.objectives._recipe import Evaluation, Objective, Recipe

__all__ = [
    "DOMAIN_EDGE",
    "Evaluation",
    "Gradient",
    "LargeMargin",
    "LargeMarginRecipe",
    "Objective",
    "Parameters",
    "Placed",
    "Recipe",
    "nearest_of_class",
]
