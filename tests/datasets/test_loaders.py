import numpy as np
import pytest
from sklearn.datasets import load_wine as sklearn_wine

from cayleyklein import datasets


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("wine", (178, 13), [59, 71, 48]),
        ("sonar", (208, 60), [111, 97]),
        ("vowel", (528, 10), [48] * 11),
        ("balance", (625, 4), [49, 288, 288]),
        ("pima", (768, 8), [500, 268]),
    ],
)
def test_shapes_and_classes(name, shape, counts):
    bunch = getattr(datasets, f"load_{name}")()
    assert bunch.data.shape == shape
    assert np.bincount(bunch.target).tolist() == counts
    assert len(bunch.feature_names) == shape[1]
    assert "Source" in bunch.DESCR
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_wine_is_scikit_learns():
    np.testing.assert_allclose(datasets.load_wine().data, sklearn_wine().data)


def test_balance_follows_its_rule():
    """The side with the larger weight × distance goes down."""
    bunch = datasets.load_balance()
    by_name = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
    left, right = bunch.data[:, 0] * bunch.data[:, 1], bunch.data[:, 2] * bunch.data[:, 3]
    assert len(by_name) == 4
    expected = np.where(left > right, "L", np.where(left < right, "R", "B"))
    np.testing.assert_array_equal(bunch.target_names[bunch.target], expected)
