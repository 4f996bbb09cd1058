"""Colours of every picture."""

from itertools import cycle, islice

__all__ = [
    "BLACK",
    "BLUE",
    "CLASS_COLORS",
    "GEOMETRY_COLORS",
    "GREEN",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILION",
    "YELLOW",
    "class_colors",
]

# Okabe and Ito's palette, whose colours stay apart in the common kinds of colour blindness.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, YELLOW, BLACK = "#CC79A7", "#56B4E9", "#F0E442", "#000000"

GEOMETRY_COLORS = {
    "elliptic": VERMILION,
    "hyperbolic": GREEN,
    "flat": BLUE,
    "mixed": PURPLE,
}
"""The paper's red, green and blue, in shades that everyone can tell apart."""

CLASS_COLORS = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)


def class_colors(n: int) -> list[str]:
    """Return a colour for each of n classes; they repeat after eight."""
    return list(islice(cycle(CLASS_COLORS), n))
