"""The classifiers that are compared: ours, scikit-learn's and other packages'."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cayleyklein._validation import as_choice, as_texts
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN

SEED = 0

PAPER_NEIGHBORS = 3

BASELINE, AUTO = "knn", "auto"

PAPERS = "paper-"
"""Prefix of the methods that are the paper's algorithm."""


class Method(NamedTuple):
    """A title, and a function (k, n_targets) → classifier, None for its default."""

    title: str
    make: Callable[[int | None, int | None], Any]


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


def _svm(*_: Any) -> Any:
    """Return an RBF SVM whose C and γ are cross-validated."""
    grid = {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
    folds = KFold(3, shuffle=True, random_state=SEED)  # stratified ones refuse rare classes
    return make_pipeline(StandardScaler(), GridSearchCV(SVC(), grid, cv=folds))


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
    "svm": Method("RBF SVM", _svm),
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


def check_methods(methods: Iterable[str]) -> list[str]:
    """Check the names of methods."""
    return [as_choice(name, "methods", tuple(METHODS)) for name in as_texts(methods, "methods")]
