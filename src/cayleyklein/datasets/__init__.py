"""The paper's data sets, and generators of curved data."""

from cayleyklein.datasets._generators import make_elliptic_blobs, make_hyperbolic_tree, make_mixed
from cayleyklein.datasets.loaders import load_balance, load_pima, load_sonar, load_vowel, load_wine

__all__ = [
    "load_balance",
    "load_pima",
    "load_sonar",
    "load_vowel",
    "load_wine",
    "make_elliptic_blobs",
    "make_hyperbolic_tree",
    "make_mixed",
]
