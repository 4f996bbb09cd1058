"""Every fitted estimator and metric comes back from a file, and from skops."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import cayleyklein as ck
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, load_model, save_model

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
FLAT = ck.CurvedMetric.euclidean(4)
WORDS = pd.DataFrame({"kind": ["a", "b", "c"] * 10, "size": np.arange(30.0) ** 2})
MODELS = {
    "neighbours": lambda: ck.CurvedKNeighborsClassifier(random_state=0).fit(X, Y),
    "by a tree": lambda: ck.CurvedKNeighborsClassifier(3, metric=FLAT, algorithm="tree").fit(X, Y),
    "vantage": lambda: ck.CurvedKNeighborsRegressor(3, metric=FLAT, algorithm="vantage").fit(
        X, X[:, 0]
    ),
    "kernels": lambda: ck.CurvedKernelClassifier(random_state=0).fit(X, Y),
    "rules": lambda: ck.CurvedKernelClassifier(("ranks", "rules"), random_state=0).fit(X, Y),
    "kernels of words": lambda: ck.CurvedKernelRegressor("columns", random_state=0).fit(
        WORDS, WORDS["size"]
    ),
    "gaps": lambda: ck.CurvedKernelRegressor(geometry="flat", random_state=0).fit(
        np.where(X > 6, np.nan, X), X[:, 1]
    ),
    "LMNN": lambda: ck.CurvedLMNN(geometry="elliptic", random_state=0).fit(X, Y),
    "the paper's": lambda: ck.CayleyKleinLMNN(random_state=0).fit(X, Y),
    "MLKR": lambda: ck.CurvedMLKR(random_state=0).fit(X, X[:, 0]),
    "MMC": lambda: ck.MMC().fit(X, Y),
    "pairs": lambda: ck.CurvedPairs(random_state=0).fit(
        np.stack([X[:-1], X[1:]], axis=1), np.where(Y[:-1] == Y[1:], 1, -1)
    ),
    "triplets": lambda: ck.CurvedTriplets(random_state=0).fit(
        np.stack([X[:10], X[1:11], X[30:40]], axis=1)
    ),
    "quadruplets": lambda: ck.CurvedQuadruplets(random_state=0).fit(
        np.stack([X[:10], X[1:11], X[:10], X[30:40]], axis=1)
    ),
    "mixed": lambda: ck.CurvedKNeighborsClassifier(geometry="mixed", random_state=0).fit(X, Y),
    "landmarks": lambda: ck.CurvedKernelClassifier(n_landmarks=20, random_state=0).fit(X, Y),
    "clusters": lambda: ck.CurvedKMeans(3, random_state=0).fit(X),
    "linear": lambda: ck.CurvedLinearSVC().fit(X, Y),
    "search": lambda: ck.CurvedNeighbors().fit(X),
    "map": lambda: ck.CurvedMDS(random_state=0).fit(X),
    "chart": lambda: ck.FromChart().fit(X / 20),
    "encoder": lambda: TableEncoder().fit(WORDS),
}
METRICS = [
    ck.CurvedMetric.euclidean(2, curvature=-0.01),
    ck.SphereMetric(2, curvature=2.0),
    ck.FormMetric(np.diag([0.01, 0.01, -1.0])),
    ck.ProductMetric([ck.CurvedMetric.euclidean(2), ck.CurvedMetric.euclidean(2, curvature=1.0)]),
    ck.MixedMetric([ck.CurvedMetric.euclidean(2), ck.CurvedMetric.euclidean(2, curvature=1.0)]),
]


def answer(model, name):
    rows = {"kernels of words": WORDS, "encoder": WORDS, "chart": X / 20}.get(name, X)
    if name in ("pairs", "triplets", "quadruplets", "LMNN", "the paper's", "MLKR", "MMC"):
        return model.metric_.pairwise(X[:5])
    if name == "search":
        return model.kneighbors(X, 3)[0]
    return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_comes_back(name, tmp_path):
    model = MODELS[name]()
    save_model(model, tmp_path / "model.ckm")
    again = load_model(tmp_path / "model.ckm")
    assert type(again) is type(model)
    np.testing.assert_array_equal(answer(again, name), answer(model, name))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    data = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=data)
    np.testing.assert_array_equal(
        answer(skops.io.loads(data, trusted=trusted), name), answer(model, name)
    )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
def test_every_metric_comes_back(metric, tmp_path):
    save_model(metric, tmp_path / "metric.ckm")
    again = load_model(tmp_path / "metric.ckm")
    rows = X[:, :2] / np.linalg.norm(X[:, :2], axis=1, keepdims=True)  # on the sphere, too
    np.testing.assert_array_equal(again.pairwise(rows), metric.pairwise(rows))


def test_what_no_file_can_hold(tmp_path):
    path = tmp_path / "model.ckm"
    with pytest.raises(NotFittedError):
        save_model(ck.CurvedLMNN(), path)
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        save_model({"a": 1}, path)
    model = ck.CurvedKNeighborsClassifier(3, metric=FLAT, weights=np.exp)
    with pytest.raises(InvalidInputError, match="refused"):
        save_model(model.fit(X, Y), path)
    assert not path.exists()
