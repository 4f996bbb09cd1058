"""The classifiers and regressors that are compared: ours, scikit-learn's and other packages'."""

import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NeighborhoodComponentsAnalysis,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from cayleyklein._validation import as_choice, as_texts
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.learning import CurvedLMNN
from cayleyklein.prediction import CurvedKNeighborsClassifier, CurvedKNeighborsRegressor

SEED = 0
PAPER_NEIGHBORS = 3
BASELINE, AUTO = "knn", "auto"
PAPERS = "paper-"  # prefix of the methods that are the paper's algorithm


class Method(NamedTuple):
    """A title, and functions (k, n_targets) → classifier and k → regressor, None for defaults."""

    title: str
    make: Callable[[int | None, int | None], Any]
    make_regressor: Callable[[int | None], Any] | None = None

    def title_for(self, task: str) -> str:
        return self.title if task == "class" else self.title.replace("LMNN", "MLKR")


def _scaled(title: str, *learners: BaseEstimator) -> Method:
    return Method(
        title,
        lambda k, _: make_pipeline(
            StandardScaler(), *map(clone, learners), KNeighborsClassifier(k or 5)
        ),
        None
        if learners
        else lambda k: make_pipeline(StandardScaler(), KNeighborsRegressor(k or 5)),
    )


def _curved(title: str, geometry: str, *, is_paper: bool = False) -> Method:
    solver: dict[str, Any] = {"solver": "gradient"} if is_paper else {}

    def make(k: int | None, n_targets: int | None) -> Any:
        if is_paper:
            k = k or PAPER_NEIGHBORS
            n_targets = n_targets or k
        votes: dict[str, Any] = {} if k is None else {"n_neighbors": k, "weights": "uniform"}
        if n_targets is None:
            return CurvedKNeighborsClassifier(**votes, geometry=geometry, random_state=SEED)
        learned = "product" if geometry == "auto" else geometry
        learner = CurvedLMNN(geometry=learned, n_targets=n_targets, random_state=SEED, **solver)
        return CurvedKNeighborsClassifier(**votes, learner=learner)

    def make_regressor(k: int | None) -> Any:
        votes: dict[str, Any] = {} if k is None else {"n_neighbors": k, "weights": "uniform"}
        return CurvedKNeighborsRegressor(**votes, geometry=geometry, random_state=SEED)

    if is_paper:
        return Method(f"{title}, paper's algorithm", make)
    return Method(title, make, None if geometry == "mixed" else make_regressor)


PEERS = {"metric-learn": "metric_learn", "pylmnn": "pylmnn"}  # packages with an LMNN of their own


def _lmnn_of(package: str) -> Method:
    def make(k: int | None, n_targets: int | None) -> Any:
        learner = "LMNN" if package == "metric-learn" else "LargeMarginNearestNeighbor"
        maker = getattr(import_module(PEERS[package]), learner)
        step = maker(n_neighbors=n_targets or k or PAPER_NEIGHBORS, random_state=SEED)
        return make_pipeline(StandardScaler(), step, KNeighborsClassifier(k or 5))

    return Method(f"LMNN ({package})", make)


SVM_GRID = {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
SVM_FOLDS = KFold(3, shuffle=True, random_state=SEED)  # stratified ones refuse rare classes


def _cross_validated_svr() -> Any:
    search = GridSearchCV(SVR(), SVM_GRID, cv=SVM_FOLDS)
    return TransformedTargetRegressor(search, transformer=StandardScaler())


class CrossValidatedSVC(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> "CrossValidatedSVC":
        self.classes_, counts = np.unique(y, return_counts=True)
        self.model_ = GridSearchCV(SVC(), SVM_GRID, cv=SVM_FOLDS).fit(X, y).best_estimator_
        rows, n_folds = np.arange(len(y)), int(min(3, counts.min()))
        scored: Any = n_folds if n_folds > 1 else [(rows, rows)]  # single rows have no other fold
        self.calibrated_ = CalibratedClassifierCV(self.model_, cv=scored, ensemble=False).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.calibrated_.predict_proba(X)


METHODS = {
    BASELINE: _scaled("standardised k-NN"),
    AUTO: _curved("auto", "auto"),
    "kernel": Method(
        "kernel machines",
        lambda *_: CurvedKernelClassifier(random_state=SEED),
        lambda _: CurvedKernelRegressor(random_state=SEED),
    ),
    "flat": _curved("flat LMNN", "flat"),
    "elliptic": _curved("elliptic", "elliptic"),
    "hyperbolic": _curved("hyperbolic", "hyperbolic"),
    "learned": _curved("learned K", "learned"),
    "mixed": _curved("mixed", "mixed"),
    "paper-flat": _curved("flat LMNN", "flat", is_paper=True),
    "paper-elliptic": _curved("elliptic", "elliptic", is_paper=True),
    "paper-hyperbolic": _curved("hyperbolic", "hyperbolic", is_paper=True),
    "nca": _scaled("NCA + k-NN", NeighborhoodComponentsAnalysis(random_state=SEED)),
    "forest": Method(
        "random forest",
        lambda *_: RandomForestClassifier(200, random_state=SEED),
        lambda _: RandomForestRegressor(200, random_state=SEED),
    ),
    "svm": Method(
        "RBF SVM",
        lambda *_: make_pipeline(StandardScaler(), CrossValidatedSVC()),
        lambda _: make_pipeline(StandardScaler(), _cross_validated_svr()),
    ),
    **{package: _lmnn_of(package) for package in PEERS},
}
COMPARED = (  # default methods of `compare`
    BASELINE, "kernel", AUTO, "flat", "elliptic", "hyperbolic", "learned", "mixed", "nca", "forest",
    "svm",
)  # fmt: skip
REPRODUCED = (  # default methods of `reproduce`
    "flat", "elliptic", "hyperbolic", "mixed", "paper-flat", "paper-elliptic", "paper-hyperbolic",
    BASELINE, AUTO,
)  # fmt: skip


def check_methods(methods: Iterable[str]) -> list[str]:
    """Check the names of methods; "lmnn" becomes the LMNN of each package that is installed."""
    known = (*METHODS, "lmnn")
    names = [as_choice(name, "methods", known) for name in as_texts(methods, "methods")]
    for name in set(names) & set(PEERS):
        if not _is_installed(name):
            raise InvalidInputError(f"Method {name!r} needs {name}, which is not installed.")
    if "lmnn" in names:
        installed = [package for package in PEERS if _is_installed(package)]
        names = [name for name in names if name != "lmnn"] + installed
        if not installed:
            left_out = f"lmnn is left out: no {' or '.join(PEERS)} is installed."
            warnings.warn(left_out, stacklevel=3)
    return names


def _is_installed(package: str) -> bool:
    try:
        import_module(PEERS[package])
    except ImportError:
        return False
    return True
