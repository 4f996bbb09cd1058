"""The paper's data sets, generators of curved data, and readers of tables."""

from cayleyklein.datasets._generators import (
    make_elliptic_blobs,
    make_hyperbolic_tree,
    make_mixed,
)
from cayleyklein.datasets._loaders import (
    load_balance,
    load_pima,
    load_sonar,
    load_vowel,
    load_wine,
)
from cayleyklein.datasets._tables import iter_table, read_table

__all__ = [
    "iter_table",
    "load_balance",
    "load_pima",
    "load_sonar",
    "load_vowel",
    "load_wine",
    "make_elliptic_blobs",
    "make_hyperbolic_tree",
    "make_mixed",
    "read_table",
]
