"""The paper's data sets."""

from cayleyklein.datasets._loaders import (
    load_balance,
    load_pima,
    load_sonar,
    load_vowel,
    load_wine,
)

__all__ = ["load_balance", "load_pima", "load_sonar", "load_vowel", "load_wine"]
