"""
Labelled points and the bichromatic diagram
===========================================

(a) Eight generators in a hyperbolic plane, with the labels 1 (blue) and −1 (orange; the paper has
red), and their Voronoi diagram. (b) The diagram with its cells in the colours of their generators
is what the nearest neighbour says everywhere. The frontier between the labels is piecewise linear.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("bichromatic"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures bichromatic`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_bichromatic
