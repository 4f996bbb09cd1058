"""Loaders and generators raise a clear error for bad input."""

import pytest
from tests.bad_input import Call, calls, check, choice, count, fixed, real, seed

from cayleyklein import datasets

drawing = {"n_samples": count(12), "random_state": seed(), "return_metric": fixed(False)}

CALLS = {
    "load_vowel": Call(datasets.load_vowel, {"speakers": choice("train")}),
    "make_elliptic_blobs": Call(
        datasets.make_elliptic_blobs,
        drawing
        | {
            "n_features": count(2),
            "centers": count(3),
            "cluster_std": real(0.1, -1.0),
            "reach": real(1.0, 0.0, -1.0, 2.0),
        },
    ),
    "make_hyperbolic_tree": Call(
        datasets.make_hyperbolic_tree,
        drawing
        | {
            "n_features": count(2, 1),
            "depth": count(2, 50),
            "branching": count(2),
            "edge": real(1.0, 0.0, -1.0, 100.0),
            "cluster_std": real(0.1, -1.0),
        },
    ),
    "make_mixed": Call(datasets.make_mixed, drawing | {"centers": count(2)}),
}

SAMPLE = """
load_vowel speakers: another word
make_elliptic_blobs reach: out of range: 2
make_hyperbolic_tree depth: out of range: 50
make_mixed centers: a fraction
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
