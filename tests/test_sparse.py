"""Sparse rows: one-hot columns are made dense, wide counts are refused, for every estimator."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.preprocessing import OneHotEncoder

from cayleyklein import (
    MMC,
    CayleyKleinLMNN,
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKMeans,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLinearSVC,
    CurvedLMNN,
    CurvedMDS,
    CurvedMLKR,
    CurvedNeighbors,
    FromChart,
    estimate_curvature,
)
from cayleyklein.exceptions import InvalidTypeError

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 4, size=(90, 3))
ROWS = OneHotEncoder().fit_transform(CODES)  # sparse: 12 columns
Y = (CODES[:, 0] > 1).astype(int)
ESTIMATORS = [
    CayleyKleinLMNN("elliptic", random_state=0),
    CurvedKernelClassifier(geometry="flat", random_state=0),
    CurvedKernelRegressor(geometry="flat", random_state=0),
    CurvedKMeans(2, n_init=1, random_state=0),
    CurvedKNeighborsClassifier(3, geometry="flat", random_state=0),
    CurvedKNeighborsRegressor(3, geometry="flat", random_state=0),
    CurvedLinearSVC(),
    CurvedLMNN(geometry="flat", max_iter=3, random_state=0),
    CurvedMDS(random_state=0, n_init=1),
    CurvedMLKR(geometry="flat", max_iter=3, random_state=0),
    CurvedNeighbors(),
    FromChart("klein", curvature=0),
    MMC(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*have no curvature")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_one_hot_columns_are_made_dense(estimator, form):
    target = Y + 0.1 * CODES[:, 1] if is_regressor(estimator) else Y
    rows, dense = form(ROWS), ROWS.toarray()
    one, other = clone(estimator).fit(rows, target), clone(estimator).fit(dense, target)
    for method in ("predict", "transform", "kneighbors"):
        if hasattr(one, method):
            found, expected = getattr(one, method)(rows), getattr(other, method)(dense)
            for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
                same = a != b if sparse.issparse(a) else np.asarray(a) != np.asarray(b)
                assert not same.sum()
    assert estimator.__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_what_would_be_large_is_refused_with_the_way_out(estimator):
    with pytest.raises(InvalidTypeError, match=r"1,001 columns.*TruncatedSVD.*X\.toarray\(\)"):
        clone(estimator).fit(sparse.csr_array((90, 1001)), Y)
    with pytest.raises(InvalidTypeError, match=r"10 columns and 800\.0 MB"):
        clone(estimator).fit(sparse.csr_array((10_000_000, 10)), Y)


def test_what_takes_memory_is_noted_once():
    rows = sparse.csr_array((2000, 100))
    with pytest.warns(
        UserWarning, match=r"made dense: 2,000 rows of 100 columns, 1\.6 MB"
    ) as found:
        search = CurvedNeighbors(algorithm="brute").fit(rows)
    assert [each.filename for each in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.kneighbors(rows[:5])


def test_rows_of_a_verdict_may_be_sparse():
    assert estimate_curvature(ROWS, Y, random_state=0).verdict == (
        estimate_curvature(ROWS.toarray(), Y, random_state=0).verdict
    )


def test_zeros_of_sparse_dissimilarities_are_not_guessed():
    with pytest.raises(InvalidTypeError, match="graph_distances"):
        CurvedMDS(metric="precomputed").fit(sparse.csr_array((5, 5)))
