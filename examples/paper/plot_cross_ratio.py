"""
The cross-ratio and its invariance
==================================

(a) Seen from a point O, four points of a line fall on four points of another line. Lengths and
ratios change, but not the cross-ratio (p, q; P, Q): it is invariant under collineations.
(b) Cross-ratios with the same P and Q multiply, (p, q; P, Q) = (p, r; P, Q) × (r, q; P, Q), so
that their logarithms add up along a line, as distances should.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("cross_ratio"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures cross_ratio`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_cross_ratio
