"""
A Voronoi diagram of order 3
============================

Each cell of the diagram of order 3 belongs to three points: everywhere in it, they are the three
nearest. One cell is shown in yellow, and its three generators are large and red. The walls are
straight, as in the diagram of order 1.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("order_k"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures order_k`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_order_k
