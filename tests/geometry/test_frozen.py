import pickle
from unittest import mock

import numpy as np
import pytest

from cayleyklein.geometry import Absolute, Ball, Ellipsoid, Polytope
from cayleyklein.metrics import CurvedMetric, MixedMetric

DISC = CurvedMetric(factor=np.eye(2), curvature=-1.0)

PAIRS = [
    (DISC, CurvedMetric(matrix=np.eye(2), curvature=-1.0)),
    (Ball([0.5, 0.0], 1.0, DISC), Ball([0.5, 0.0], 1.0, CurvedMetric(factor=np.eye(2)))),
    (Ellipsoid([0.0, 0.0], np.eye(2)), Ellipsoid([0.0, 0.0], np.eye(2), 2.0)),
    (Polytope([[1.0], [-1.0]], [1.0, 1.0]), Polytope([[1.0], [-1.0]], [1.0, 2.0])),
    (Absolute(np.diag([1, 1, -1])), Absolute(np.diag([2, 2, -2]))),
    (MixedMetric([DISC, DISC]), MixedMetric([DISC, DISC], [1.0, 2.0])),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda item: type(item).__name__)
def test_compares_by_value(one, other):
    twin = pickle.loads(pickle.dumps(one))
    assert one == twin
    assert hash(one) == hash(twin)
    assert len({one, twin, other}) == 2
    assert one != other
    assert one != "a text"
    assert one == mock.ANY  # what does not know the other leaves the answer to it
