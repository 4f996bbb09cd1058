"""The methods that are compared, ours and others'."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
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

__all__ = [
    "AUTO",
    "BASELINE",
    "COMPARED",
    "METHODS",
    "PAPERS",
    "REPRODUCED",
    "Method",
    "check_methods",
    "choose_peers",
]

SEED = 0


Make = Callable[[int | None, int | None], Any]


@dataclass(frozen=True)
class Method:
    """A way to make a classifier of numeric rows.

    Attributes
    ----------
    name : str
        By which it is asked for.
    title : str
        In tables.
    make : callable
        (k, n_targets) → an unfitted classifier, which learns its scaling from its training rows. k
        neighbours vote, all alike; None leaves the votes, and the number of target neighbours, to
        the defaults of the method.
    module : str or None
        What must be importable.
    """

    name: str
    title: str
    make: Make
    module: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether it can run here."""
        try:
            self.module is not None and import_module(self.module)
        except ImportError:
            return False
        return True


def _neighbors(k: int | None) -> KNeighborsClassifier:
    return KNeighborsClassifier() if k is None else KNeighborsClassifier(k)


def _euclidean(k: int | None, _: int | None) -> Any:
    return make_pipeline(StandardScaler(), _neighbors(k))


def _curved(geometry: str) -> Make:
    """Make our defaults in one geometry."""

    def make(k: int | None, n_targets: int | None) -> Any:
        votes: dict[str, Any] = {} if k is None else {"n_neighbors": k, "weights": "uniform"}
        if n_targets is None:
            return CurvedKNeighborsClassifier(**votes, geometry=geometry, random_state=SEED)
        learner = CurvedLMNN(geometry=geometry, n_targets=n_targets, random_state=SEED)
        return CurvedKNeighborsClassifier(**votes, learner=learner)

    return make


def _papers(geometry: str) -> Make:
    """Make the paper's algorithm: its solver, and as many target neighbours as vote."""

    def make(k: int | None, n_targets: int | None) -> Any:
        learner = CurvedLMNN(
            geometry=geometry,
            solver="gradient",
            n_targets=n_targets or k or PAPER_NEIGHBORS,
            random_state=SEED,
        )
        return CurvedKNeighborsClassifier(k or PAPER_NEIGHBORS, learner=learner, weights="uniform")

    return make


def _nca(k: int | None, _: int | None) -> Any:
    learner = NeighborhoodComponentsAnalysis(random_state=SEED)
    return make_pipeline(StandardScaler(), learner, _neighbors(k))


def _forest(k: int | None, _: int | None) -> Any:
    return RandomForestClassifier(200, random_state=SEED)


def _svm(k: int | None, _: int | None) -> Any:
    """Make an RBF SVM, C and γ by cross-validation, its scores made probabilities."""
    return make_pipeline(StandardScaler(), CrossValidatedSVC())


class CrossValidatedSVC(ClassifierMixin, BaseEstimator):
    """An RBF SVM whose C and γ are those of the best cross-validated accuracy."""

    def fit(self, X: Any, y: Any) -> "CrossValidatedSVC":
        """Choose C and γ, and calibrate the scores (Platt)."""
        self.classes_, counts = np.unique(y, return_counts=True)
        folds = int(min(3, counts.min()))
        model = SVC(random_state=SEED)
        if folds > 1:
            grid = {"C": [1.0, 10.0, 100.0], "gamma": [f / X.shape[1] for f in (0.1, 0.3, 1.0)]}
            model = GridSearchCV(model, grid, cv=folds).fit(X, y).best_estimator_
        self.model_ = model.fit(X, y)
        self.shares_ = None
        if folds > 1:
            self.shares_ = CalibratedClassifierCV(model, cv=folds, ensemble=False).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Return classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities; 0 or 1 where a class has a single row, and none can be had."""
        if self.shares_ is None:
            return (self.predict(X)[:, None] == self.classes_).astype(float)
        return self.shares_.predict_proba(X)


def _lmnn_of(module: str, learner: str) -> Make:
    def make(k: int | None, n_targets: int | None) -> Any:
        maker = getattr(import_module(module), learner)
        step = maker(n_neighbors=n_targets or k or PAPER_NEIGHBORS, random_state=SEED)
        return make_pipeline(StandardScaler(), step, _neighbors(k))

    return make


PAPER_NEIGHBORS = 3

BASELINE = "knn"

AUTO = "auto"

PAPERS = "paper-"
"""How the names of the paper's algorithm begin."""

METHODS = {
    method.name: method
    for method in (
        Method(BASELINE, "Euclidean k-NN", _euclidean),
        Method(AUTO, "auto", _curved("auto")),
        Method("flat", "flat LMNN", _curved("flat")),
        Method("elliptic", "elliptic", _curved("elliptic")),
        Method("hyperbolic", "hyperbolic", _curved("hyperbolic")),
        Method("learned", "learned K", _curved("learned")),
        Method("mixed", "mixed", _curved("mixed")),
        Method("paper-flat", "flat LMNN, paper's algorithm", _papers("flat")),
        Method("paper-elliptic", "elliptic, paper's algorithm", _papers("elliptic")),
        Method("paper-hyperbolic", "hyperbolic, paper's algorithm", _papers("hyperbolic")),
        Method("nca", "NCA + k-NN", _nca),
        Method("forest", "random forest", _forest),
        Method("svm", "RBF SVM", _svm),
        Method(
            "metric-learn", "LMNN (metric-learn)", _lmnn_of("metric_learn", "LMNN"), "metric_learn"
        ),
        Method(
            "pylmnn", "LMNN (pylmnn)", _lmnn_of("pylmnn", "LargeMarginNearestNeighbor"), "pylmnn"
        ),
    )
}

COMPARED = (
    BASELINE, AUTO, "flat", "elliptic", "hyperbolic", "learned", "mixed", "nca", "forest", "svm",
)  # fmt: skip
"""What is compared by default: ours, and scikit-learn's."""

REPRODUCED = (
    "flat", "elliptic", "hyperbolic", "mixed", "paper-flat", "paper-elliptic", "paper-hyperbolic",
    BASELINE, AUTO,
)  # fmt: skip
"""What the paper's tables have: its algorithm, ours in its geometries, and two to compare with."""

PEERS = {
    "knn": (BASELINE,),
    "nca": ("nca",),
    "lmnn": ("metric-learn", "pylmnn"),
    "metric-learn": ("metric-learn",),
    "pylmnn": ("pylmnn",),
}
"""What may be added, and the methods that it stands for."""


def check_methods(names: Iterable[str]) -> None:
    """Refuse a method that there is not, or not here.

    >>> check_methods(["knn", "eliptic"])
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: No method 'eliptic' in methods; ...
    """
    for name in as_texts(names, "methods"):
        if name not in METHODS:
            raise InvalidInputError(
                f"No method {name!r} in methods; expected some of {', '.join(map(repr, METHODS))}."
                f"{nearest_name(name, METHODS)}"
            )
        if not METHODS[name].is_installed:
            raise InvalidInputError(f"Method {name!r} needs {name}, which is not installed.")


def choose_peers(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the methods to add for the peers asked for, and sentences on those that are missing.

    Parameters
    ----------
    names : iterable of str
        Of "metric-learn", "pylmnn" and "lmnn", which is both; "nca" and "knn" are in every
        comparison anyway.

    Examples
    --------
    >>> choose_peers(["nca"])
    (('nca',), ())
    """
    chosen: dict[str, None] = {}
    notes = []
    for name in names:
        if name not in PEERS:
            allowed = ", ".join(repr(peer) for peer in PEERS)
            raise InvalidInputError(
                f"No method {name!r} to compare with; expected some of {allowed}."
                f"{nearest_name(name, PEERS)}"
            )
        present = [peer for peer in PEERS[name] if METHODS[peer].is_installed]
        chosen |= dict.fromkeys(present)
        if not present:
            missing = " or ".join(PEERS[name])
            notes.append(f"{name} is left out: no {missing} is installed here.")
    return tuple(chosen), tuple(notes)
