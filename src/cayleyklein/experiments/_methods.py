"""The classifiers that are compared: ours, scikit-learn's and other packages'."""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cayleyklein._validation import as_texts, nearest_name
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN

SEED = 0

PAPER_NEIGHBORS = 3

BASELINE, AUTO = "knn", "auto"

PAPERS = "paper-"
"""Prefix of the methods that are the paper's algorithm."""


class Method(NamedTuple):
    """A title, a function (k, n_targets) → classifier (None: default), and the module it needs."""

    title: str
    make: Callable[[int | None, int | None], Any]
    module: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the module can be imported."""
        try:
            self.module is not None and import_module(self.module)
        except ImportError:
            return False
        return True


def _neighbors(k: int | None) -> KNeighborsClassifier:
    return KNeighborsClassifier() if k is None else KNeighborsClassifier(k)


def _scaled(title: str, *learners: BaseEstimator) -> Method:
    """Return k-NN on standardised columns, after a learner of a metric."""
    return Method(
        title, lambda k, _: make_pipeline(StandardScaler(), *map(clone, learners), _neighbors(k))
    )


def _curved(title: str, geometry: str, *, is_paper: bool = False) -> Method:
    """Return our defaults in one geometry, or the paper's solver with as many targets as votes."""
    solver: dict[str, Any] = {"solver": "gradient"} if is_paper else {}

    def make(k: int | None, n_targets: int | None) -> Any:
        if is_paper:
            k = k or PAPER_NEIGHBORS
            n_targets = n_targets or k
        votes: dict[str, Any] = {} if k is None else {"n_neighbors": k, "weights": "uniform"}
        if n_targets is None:
            return CurvedKNeighborsClassifier(**votes, geometry=geometry, random_state=SEED)
        learner = CurvedLMNN(geometry=geometry, n_targets=n_targets, random_state=SEED, **solver)
        return CurvedKNeighborsClassifier(**votes, learner=learner)

    return Method(f"{title}, paper's algorithm" if is_paper else title, make)


def _lmnn_of(module: str, learner: str) -> Method:
    """Return the LMNN of another package."""

    def make(k: int | None, n_targets: int | None) -> Any:
        maker = getattr(import_module(module), learner)
        step = maker(n_neighbors=n_targets or k or PAPER_NEIGHBORS, random_state=SEED)
        return make_pipeline(StandardScaler(), step, _neighbors(k))

    return Method(f"LMNN ({module.replace('_', '-')})", make, module)


class CrossValidatedSVC(ClassifierMixin, BaseEstimator):
    """An RBF SVM with cross-validated C and γ, and Platt's probabilities."""

    def fit(self, X: Any, y: Any) -> "CrossValidatedSVC":
        """Choose C and γ, and calibrate the scores."""
        self.classes_, counts = np.unique(y, return_counts=True)
        folds = int(min(3, counts.min()))
        self.model_, self.calibrated_ = SVC(random_state=SEED), None
        if folds > 1:
            grid = {"C": [1.0, 10.0, 100.0], "gamma": [f / X.shape[1] for f in (0.1, 0.3, 1.0)]}
            self.model_ = GridSearchCV(self.model_, grid, cv=folds).fit(X, y).best_estimator_
            calibrated = CalibratedClassifierCV(self.model_, cv=folds, ensemble=False)
            self.calibrated_ = calibrated.fit(X, y)
        self.model_.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Return classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities; 0 or 1 if a class has a single row, too few to calibrate."""
        if self.calibrated_ is None:
            return (self.predict(X)[:, None] == self.classes_).astype(float)
        return self.calibrated_.predict_proba(X)


METHODS = {
    BASELINE: _scaled("Euclidean k-NN"),
    AUTO: _curved("auto", "auto"),
    "flat": _curved("flat LMNN", "flat"),
    "elliptic": _curved("elliptic", "elliptic"),
    "hyperbolic": _curved("hyperbolic", "hyperbolic"),
    "learned": _curved("learned K", "learned"),
    "mixed": _curved("mixed", "mixed"),
    "paper-flat": _curved("flat LMNN", "flat", is_paper=True),
    "paper-elliptic": _curved("elliptic", "elliptic", is_paper=True),
    "paper-hyperbolic": _curved("hyperbolic", "hyperbolic", is_paper=True),
    "nca": _scaled("NCA + k-NN", NeighborhoodComponentsAnalysis(random_state=SEED)),
    "forest": Method("random forest", lambda *_: RandomForestClassifier(200, random_state=SEED)),
    "svm": Method("RBF SVM", lambda *_: make_pipeline(StandardScaler(), CrossValidatedSVC())),
    "metric-learn": _lmnn_of("metric_learn", "LMNN"),
    "pylmnn": _lmnn_of("pylmnn", "LargeMarginNearestNeighbor"),
}

COMPARED = (
    BASELINE, AUTO, "flat", "elliptic", "hyperbolic", "learned", "mixed", "nca", "forest", "svm",
)  # fmt: skip
"""Default methods of `compare`."""

REPRODUCED = (
    "flat", "elliptic", "hyperbolic", "mixed", "paper-flat", "paper-elliptic", "paper-hyperbolic",
    BASELINE, AUTO,
)  # fmt: skip
"""Default methods of `reproduce`."""

PEERS = {
    BASELINE: (BASELINE,),
    "nca": ("nca",),
    "lmnn": ("metric-learn", "pylmnn"),
    "metric-learn": ("metric-learn",),
    "pylmnn": ("pylmnn",),
}
"""Names for `against`, and their methods."""


def choose_methods(
    methods: Iterable[str], against: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the names of methods, add those of peers, and note each peer that is not installed.

    >>> choose_methods(["flat"], ["nca"])
    (('flat', 'nca'), ())
    >>> choose_methods(["knn", "eliptic"])
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: No method 'eliptic' in methods; ...
    """
    chosen, notes = list(_known(methods, "methods", METHODS)), []
    for name in chosen:
        if not METHODS[name].is_installed:
            raise InvalidInputError(f"Method {name!r} needs {name}, which is not installed.")
    for name in _known(against, "against", PEERS):
        installed = [peer for peer in PEERS[name] if METHODS[peer].is_installed]
        chosen += installed
        if not installed:
            notes.append(f"{name} is left out: no {' or '.join(PEERS[name])} is installed here.")
    return tuple(dict.fromkeys(chosen)), tuple(notes)


def _known(names: Iterable[str], parameter: str, known: Iterable[str]) -> Sequence[str]:
    given = as_texts(names, parameter)
    for name in given:
        if name not in known:
            allowed = ", ".join(map(repr, known))
            raise InvalidInputError(
                f"No method {name!r} in {parameter}; expected some of {allowed}."
                f"{nearest_name(name, known)}"
            )
    return given
