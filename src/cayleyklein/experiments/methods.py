"""The classifiers and regressors that are compared: ours, scikit-learn's and other packages'."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn import neighbors
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from cayleyklein._validation import as_choice, as_texts
from cayleyklein.learning import CayleyKleinLMNN, CurvedLMNN
from cayleyklein.prediction import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)

BASELINE = "knn"
# Prefixes of the methods that are the paper's algorithm: on columns as they are given, as the paper
# has it, and on standardised ones.
PAPERS = "paper-"
STANDARDISED = "paper-std-"
WHOSE = {PAPERS: "paper's algorithm", STANDARDISED: "same, standardised", "": "ours"}


def whose(method: str) -> str:
    """Return the prefix of a method's name: which algorithm it is."""
    return next(prefix for prefix in (STANDARDISED, PAPERS, "") if method.startswith(prefix))


def in_print(method: str) -> str:
    """Return a method's name without its prefix: what it is called in the paper's tables."""
    return method.removeprefix(whose(method))


class Method(NamedTuple):
    """A title, and a function (task, k, n_targets) → estimator, k and n_targets None by default.

    `learned_for` returns what the learned metric depends on: cells of equal values share one fit.
    """

    title: str
    make: Callable[..., Any]
    tasks: tuple[str, ...] = ("class", "number")
    learned_for: Callable[[int | None, int | None], Any] | None = None

    def title_for(self, task: str) -> str:
        return self.title if task == "class" else self.title.replace("LMNN", "MLKR")


def _either(title: str, classifier: Any, regressor: Any) -> Method:
    def make(task: str, k: int | None = None, n_targets: int | None = None) -> Any:
        return clone(classifier if task == "class" else regressor)

    return Method(title, make)


def _scaled(title: str, *learners: BaseEstimator) -> Method:
    def make(task: str, k: int | None = None, _: int | None = None) -> Any:
        votes = neighbors.KNeighborsClassifier if task == "class" else neighbors.KNeighborsRegressor
        return make_pipeline(StandardScaler(), *map(clone, learners), votes(k or 5))

    return Method(title, make, ("class",) if learners else ("class", "number"))


def _curved(title: str, geometry: str) -> Method:
    def make(task: str, k: int | None = None, n_targets: int | None = None) -> Any:
        votes: dict[str, Any] = {} if k is None else {"n_neighbors": k, "weights": "uniform"}
        kind = CurvedKNeighborsClassifier if task == "class" else CurvedKNeighborsRegressor
        if task == "number" or n_targets is None:
            return kind(**votes, random_state=0, geometry=geometry)
        learned = "product" if geometry == "auto" else geometry
        learner = CurvedLMNN(geometry=learned, n_targets=n_targets, random_state=0)
        return kind(**votes, learner=learner)

    def learned_for(k: int | None, n_targets: int | None) -> Any:
        # the α of a mixed metric is chosen for the k that votes
        return (k if geometry == "mixed" else None, n_targets)

    tasks = ("class",) if geometry == "mixed" else ("class", "number")
    return Method(title, make, tasks, learned_for)


def _paper(title: str, geometry: str, *, standardize: bool) -> Method:
    """Return the paper's algorithm: as many target neighbours as vote, unless they are given.

    Three neighbours vote by default, as in the paper's second table.
    """

    def make(task: str, k: int | None = None, n_targets: int | None = None) -> Any:
        k = k or 3
        learner = CayleyKleinLMNN(
            geometry, n_targets=n_targets or k, standardize=standardize, random_state=0
        )
        return CurvedKNeighborsClassifier(k, weights="uniform", learner=learner)

    def learned_for(k: int | None, n_targets: int | None) -> Any:
        k = k or 3
        return (k if geometry == "mixed" else None, n_targets or k)

    kind = "paper's algorithm, standardised" if standardize else "paper's algorithm"
    return Method(f"{title}, {kind}", make, ("class",), learned_for)


class Cell(NamedTuple):
    """A method on a data set, with k votes and n_targets target neighbours; None by default."""

    dataset: str
    method: str
    k: int | None = None
    n_targets: int | None = None

    def __str__(self) -> str:
        k = self.n_targets or self.k
        return f"{self.dataset}, {METHODS[self.method].title}" + (f", k = {k}" if k else "")


def searched(machine: Any) -> GridSearchCV:
    """Return a support vector machine whose C and γ are chosen on folds."""
    grid = {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
    # Stratified folds would need several rows of each class.
    return GridSearchCV(machine, grid, cv=KFold(3, shuffle=True, random_state=0))


class CrossValidatedSVC(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> "CrossValidatedSVC":
        self.classes_, counts = np.unique(y, return_counts=True)
        self.model_ = searched(SVC()).fit(X, y).best_estimator_
        rows = np.arange(len(y))
        n_folds = int(min(3, counts.min()))
        scored: Any = (
            n_folds if n_folds > 1 else [(rows, rows)]
        )  # a class of one row cannot be split
        self.calibrated_ = CalibratedClassifierCV(self.model_, cv=scored, ensemble=False).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.calibrated_.predict_proba(X)


GEOMETRIES_IN_PRINT = {  # and their titles
    "flat": "flat LMNN",
    "elliptic": "elliptic",
    "hyperbolic": "hyperbolic",
    "mixed": "mixed",
}
METHODS = {
    BASELINE: _scaled("standardised k-NN"),
    "neighbors": _curved("neighbours", "auto"),
    "kernel": _either(
        "kernel machines",
        CurvedKernelClassifier(random_state=0),
        CurvedKernelRegressor(random_state=0),
    ),
    "flat": _curved("flat LMNN", "flat"),
    "elliptic": _curved("elliptic", "elliptic"),
    "hyperbolic": _curved("hyperbolic", "hyperbolic"),
    "learned": _curved("learned K", "learned"),
    "mixed": _curved("mixed", "mixed"),
    **{
        PAPERS + name: _paper(title, name, standardize=False)
        for name, title in GEOMETRIES_IN_PRINT.items()
    },
    **{
        STANDARDISED + name: _paper(title, name, standardize=True)
        for name, title in GEOMETRIES_IN_PRINT.items()
    },
    "nca": _scaled("NCA + k-NN", neighbors.NeighborhoodComponentsAnalysis(random_state=0)),
    "forest": _either(
        "random forest",
        RandomForestClassifier(200, random_state=0),
        RandomForestRegressor(200, random_state=0),
    ),
    "svm": _either(
        "RBF SVM",
        make_pipeline(StandardScaler(), CrossValidatedSVC()),
        TransformedTargetRegressor(
            make_pipeline(StandardScaler(), searched(SVR())),
            transformer=StandardScaler(),
        ),
    ),
}
# Default methods of `compare` and of `reproduce`.
COMPARED = tuple(name for name in METHODS if not name.startswith(PAPERS))
REPRODUCED = (
    *GEOMETRIES_IN_PRINT,
    *(PAPERS + name for name in GEOMETRIES_IN_PRINT),
    *(STANDARDISED + name for name in GEOMETRIES_IN_PRINT),
    BASELINE,
    "neighbors",
)


def check_methods(methods: Iterable[str]) -> list[str]:
    return [as_choice(name, "methods", tuple(METHODS)) for name in as_texts(methods, "methods")]
