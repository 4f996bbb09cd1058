"""Objectives: functions of distances with gradients in (L, μ, K), one file each.

A new objective is a new file here: a class that is called with a metric and returns an
:class:`~cayleyklein.learning.objectives.lifted.Evaluation`, and a recipe that poses it. It asks
`lifted.LiftedRows` for the squared chords of some pairs and tells it how the loss changes with
each; curvature is dealt with there.
"""
