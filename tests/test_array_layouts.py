"""The storage of an array changes no digit of a result."""

import numpy as np
import pandas as pd
import pytest
from tests.small import DISC, MIXED, QUERIES, X, Y, fitted

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedNeighbors
from cayleyklein.diagrams import CayleyKleinVoronoi


def strided(a):
    wide = np.full((len(a), 2 * a.shape[1]), 7.0)
    wide[:, ::2] = a
    return wide[:, ::2]


def read_only(a):
    copy = a.copy()
    copy.setflags(write=False)
    return copy


LAYOUTS = {
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "negative strides": lambda a: a[:, ::-1].copy()[:, ::-1],
    "list": lambda a: a.tolist(),
    "swapped bytes": lambda a: a.astype(">f8"),
    "longdouble": lambda a: a.astype(np.longdouble),
    "objects": lambda a: a.astype(object),
    "masked, no entry": np.ma.array,
    "DataFrame": pd.DataFrame,
}

CALLS = {
    "pairwise": lambda X: DISC.pairwise(X),
    "mixed pairwise": lambda X: MIXED.pairwise(X),
    "distance": lambda X: DISC.distance(X, [0.25, 0.125]),
    "locate": lambda X: CayleyKleinVoronoi(X, DISC).locate(QUERIES),
    "learn": lambda X: CurvedLMNN(geometry="flat", max_iter=3).fit(X, Y).components_,
    "transform": lambda X: fitted("mmc").transform(X),
    "kneighbors": lambda X: CurvedNeighbors(metric=DISC).fit(X).kneighbors(QUERIES)[0],
    "predict_proba": lambda X: CurvedKNeighborsClassifier(metric=DISC).fit(X, Y).predict_proba(X),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # three iterations are few, and enough here
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", CALLS)
def test_the_layout_changes_no_digit(call, layout):
    given = LAYOUTS[layout](X)
    np.testing.assert_array_equal(CALLS[call](given), CALLS[call](X))
    np.testing.assert_array_equal(np.asarray(given, dtype=float), X)
