"""
Hyperbolic Voronoi diagrams
===========================

Bisectors are straight, so a Voronoi diagram of a curved metric is an affine one: the power
diagram of other balls, clipped to the domain. Two hyperbolic examples, with a round
fundamental conic and with a general one.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("voronoi"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures voronoi`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_voronoi
