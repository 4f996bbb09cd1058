"""Choosing on held-out rows: the metric, the number of neighbours, the size of the sample."""

from cayleyklein.selection.procedure import Selection, Stage, Trial

__all__ = ["Selection", "Stage", "Trial"]
