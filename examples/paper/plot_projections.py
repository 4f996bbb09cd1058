"""
Gnomonic and central projection
===============================

The chart in which geodesics are straight is a projection from the origin to the line w = 1 (one
dimension is shown, d = 1, with K = ±1). (a) Elliptic: from the unit hemisphere, where the
distance d(x, y) = arccos⟨x', y'⟩ is the length of the arc from x' to y' (red). (b) Hyperbolic:
from the upper sheet of the hyperboloid in Minkowski's space, where the length of the arc (green)
is d(x, y) = arccosh(−⟨x', y'⟩). Its asymptotes (dotted) meet the line in the fundamental conic,
here two points.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("projections"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures projections`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_projections
