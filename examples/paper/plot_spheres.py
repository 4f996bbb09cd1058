"""
Spheres are ellipses
====================

Spheres of one radius at several centres: elliptic (red), hyperbolic (green) and Mahalanobis
(blue). All are ellipses, that is, Mahalanobis spheres, but the curved ones have displaced
centres: the dots are the points at equal distance from the whole sphere. Away from the centre of
the geometry hyperbolic spheres shrink, elliptic ones grow, and flat ones are all alike. The thick
ellipse is the conic in which the hyperbolic plane ends.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("spheres"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures spheres`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_spheres
