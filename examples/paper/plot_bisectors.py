"""
Bisectors are straight
======================

The points as far from p as from q form a line, in every Cayley-Klein geometry. Here are two
hyperbolic ones (orange), each with its fundamental conic in thick black. Thin and green: spheres of
equal radii around p and q, which meet on the bisector. Dashed: the geodesic from p to q with its
midpoint.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("bisectors"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures bisectors`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_bisectors
