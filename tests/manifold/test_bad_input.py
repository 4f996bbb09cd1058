"""CurvedMDS raises errors that name the rows."""

import numpy as np
import pytest
from tests.manifold.spaces import arcs, sphere_points

from cayleyklein import CurvedMDS
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError

D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))


def changed(**entries):
    """Return D with some entries changed, such as e12=3.0."""
    out = D.copy()
    for name, value in entries.items():
        out[int(name[1]), int(name[2])] = value
    return out


@pytest.mark.parametrize(
    ("dissimilarities", "said"),
    [
        (changed(e12=3.0), r"symmetric.*\(1, 2\) and \(2, 1\) are 3 and 1"),
        (changed(e34=-1.0), r"negative at index \(3, 4\)"),
        (changed(e22=1.0), r"0 on the diagonal.*index 2"),
        (changed(e01=np.inf), "infinit"),
        (changed(**{f"e4{i}": np.nan for i in range(4)}, **{f"e{i}4": np.nan for i in range(4)}),
         "connects row 0 with rows at index 4"),
        (D[:3], r"\(3, 5\).*square"),
        (1e120 * D, "overflow"),
        (D[:1, :1], "minimum of 2"),
    ],
)  # fmt: skip
def test_dissimilarities(dissimilarities, said):
    with pytest.raises(InvalidInputError, match=said):
        CurvedMDS(metric="precomputed").fit(dissimilarities)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones((4, 4)), r"shape \(5, 5\)"),
        (-changed(), r"weights is negative at index \(0, 1\)"),
        (changed(e12=3.0), r"weights must be symmetric.*\(1, 2\) and \(2, 1\)"),
        (changed(e12=np.nan), "weights has NaN"),
        (np.zeros((5, 5)), "undetermined"),
    ],
)
def test_weights(weights, said):
    with pytest.raises(InvalidInputError, match=said):
        CurvedMDS(metric="precomputed").fit(D, weights=weights)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"curvature": -100.0},
            "curvature=-100 for .* up to 4, but expected at least",
        ),
        ({"curvature": "flat"}, "curvature"),
        ({"curvature": np.nan}, "curvature"),
        ({"n_components": 0}, "n_components"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_parameters(options, said):
    with pytest.raises(InvalidInputError, match=said):
        CurvedMDS(**({"metric": "precomputed"} | options)).fit(D)


def test_metrics_without_a_name():
    with pytest.raises(InvalidInputError, match="metric"):
        CurvedMDS(metric="no such").fit(D + 1)


def test_rows_with_nan_are_not_missing_dissimilarities():
    with pytest.raises(InvalidInputError, match="NaN"):
        CurvedMDS().fit(changed(e01=np.nan))


def test_dissimilarities_taken_as_rows_warn():
    with pytest.warns(UserWarning, match="precomputed"):
        CurvedMDS(curvature=0.0).fit(D)


def test_new_rows():
    found = CurvedMDS(metric="precomputed", curvature=0.0).fit(D)
    with pytest.raises(InvalidInputError, match=r"negative at index \(0, 1\)"):
        found.transform([[1.0, -1.0, 1.0, 1.0, 1.0]])
    with pytest.raises(InvalidInputError, match="dissimilarity at index 1"):
        found.transform([[1.0] * 5, [np.nan] * 5])


def test_new_points_beyond_the_hemisphere_are_named():
    X = np.vstack([sphere_points(40, 2, 0.3), [[0.0, 0.6, 0.8], [0.6, 0.0, -0.8]]])
    between = arcs(X)
    found = CurvedMDS(metric="precomputed", random_state=0).fit(between[:40, :40])
    with pytest.raises(OutsideDomainError, match="cover at index 1"):
        found.transform(between[40:, :40])
