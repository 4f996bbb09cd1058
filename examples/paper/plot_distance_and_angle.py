"""
Distance and angle from a conic
===============================

Cayley and Klein measure with a conic alone. (a) The line pq meets it in P and Q, and the
distance of p and q is a multiple of Log (p, q; P, Q). (b) From the common point p of two lines l
and m two tangents L and M touch it, and the angle is a multiple of Log (l, m; L, M). When the lines
meet outside the conic, as here, it is imaginary, and its modulus is the distance of the two
lines along their common perpendicular (dashed), which is part of the chord of contact.
"""

from _output import save

from cayleyklein.plotting import paper_figure

save(paper_figure("distance_and_angle"))

# %%
# This is the function that draws it, on an empty figure. The command
# ``cayleyklein figures distance_and_angle`` calls it too.
#
# .. literalinclude:: /../src/cayleyklein/plotting/paper_figures.py
#    :pyobject: draw_distance_and_angle
