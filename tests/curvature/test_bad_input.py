"""estimate_curvature raises errors that say what is wrong and what to do."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric, ProductMetric, estimate_curvature
from cayleyklein.exceptions import CayleyKleinError

X = np.random.default_rng(0).normal(size=(20, 2))
Y = X[:, 0] ** 2
FLAT = CurvedMetric.euclidean(2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": np.ones(20)}, "one value only"),
        ({"y": ["a"] * 20}, "one class only"),
        ({"y": None}, "y is missing: pass a number or a label"),
        ({"y": Y[:19]}, "X has 20 rows, but y has 19"),
        ({"y": np.where(Y > 1, np.nan, Y)}, "y has NaN"),
        ({"y": np.column_stack([Y, Y])}, r"shape \(20, 2\)"),
        ({"y": ["a", None] * 10}, "no class at rows 1, 3"),
        ({"X": np.where(X > 1, np.nan, X)}, "X has NaN"),
        ({"X": X[:, 0]}, "2D array"),
        ({"X": np.ones((20, 2))}, "constant in columns 0, 1"),
        ({"X": X * [1.0, 0.0], "shape": "diagonal"}, "constant in columns 1"),
        ({"X": X[:6], "y": Y[:6]}, "6 rows, but at least 9"),
        ({"X": X[:9], "y": Y[:9], "shape": "diagonal"}, "9 rows, but at least 11"),
        ({"X": 1e200 * X}, "squares overflow"),
        ({"X": 1e-150 * X}, "constant in columns 0, 1"),
        ({"level": 1.0}, "level=1.0"),
        ({"n_grid": 4}, "n_grid=4"),
        ({"max_samples": 0}, "max_samples=0"),
        ({"shape": "full"}, "shape='full'"),
        ({"shape": CurvedMetric.euclidean(3)}, "CurvedMetric of 2 columns"),
        ({"shape": ProductMetric([FLAT, FLAT])}, "a CurvedMetric"),
        ({"random_state": "x"}, "random_state"),
        ({"dissimilarity": "euclidean"}, "dissimilarity='euclidean'"),
        ({"dissimilarity": "precomputed"}, "expected None with dissimilarities"),
        ({"X": X, "y": None, "dissimilarity": "precomputed"}, "square|symmetric|negative"),
        ({"X": 1 - np.eye(4), "y": None, "dissimilarity": "precomputed"}, "always fits"),
    ],
)  # fmt: skip
def test_bad_input(given, said):
    with pytest.raises(CayleyKleinError, match=said):
        estimate_curvature(**({"X": X, "y": Y} | given))


def test_many_whole_numbers_are_not_classes():
    with pytest.raises(CayleyKleinError, match=r"40 classes.*y\.astype\(float\)"):
        estimate_curvature(np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) // 2)


def test_dissimilarities_that_no_curvature_fits_are_said_to_say_nothing():
    D = np.random.default_rng(0).uniform(0.5, 1.5, size=(12, 12))
    D = np.triu(D, 1) + np.triu(D, 1).T
    found = estimate_curvature(D, dissimilarity="precomputed", random_state=0)
    assert found.interval[0] < found.curvature < found.interval[1]


def test_points_on_a_line_do_not_determine_the_curvature_of_a_map():
    line = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    noise = np.triu(np.random.default_rng(0).normal(size=line.shape) * 0.1, 1)
    D = np.abs(line + noise + noise.T)
    found = estimate_curvature(D, dissimilarity="precomputed", random_state=0)
    assert found.verdict == "no evidence"
    assert found.interval[0] < 0 < found.interval[1]
