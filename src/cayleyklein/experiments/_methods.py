"""The methods that are compared, ours and others'."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein._validation import as_texts, nearest_name
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN

__all__ = [
    "BASELINE",
    "METHODS",
    "OURS",
    "Method",
    "check_methods",
    "choose_peers",
]

SEED = 0


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
        (k, target neighbours, or None for its own choice) → an unfitted classifier, which learns
        its scaling from its training rows.
    module : str or None
        What must be importable.
    """

    name: str
    title: str
    make: Callable[[int, int | None], Any]
    module: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether it can run here."""
        try:
            self.module is not None and import_module(self.module)
        except ImportError:
            return False
        return True


def _euclidean(k: int, _: int | None) -> Any:
    return make_pipeline(StandardScaler(), KNeighborsClassifier(k))


def _curved(geometry: str) -> Callable[[int, int | None], Any]:
    def make(k: int, n_targets: int | None) -> Any:
        if n_targets is None:
            return CurvedKNeighborsClassifier(k, geometry=geometry, random_state=SEED)
        learner = CurvedLMNN(k, geometry=geometry, n_targets=n_targets, random_state=SEED)
        return CurvedKNeighborsClassifier(k, learner=learner)

    return make


def _nca(k: int, _: int | None) -> Any:
    learner = NeighborhoodComponentsAnalysis(random_state=SEED)
    return make_pipeline(StandardScaler(), learner, KNeighborsClassifier(k))


def _lmnn_of(module: str, learner: str) -> Callable[[int, int | None], Any]:
    def make(k: int, n_targets: int | None) -> Any:
        maker = getattr(import_module(module), learner)
        step = maker(n_neighbors=n_targets or k, random_state=SEED)
        return make_pipeline(StandardScaler(), step, KNeighborsClassifier(k))

    return make


BASELINE = "knn"

METHODS = {
    method.name: method
    for method in (
        Method(BASELINE, "Euclidean k-NN", _euclidean),
        Method("flat", "flat LMNN", _curved("flat")),
        Method("elliptic", "elliptic", _curved("elliptic")),
        Method("hyperbolic", "hyperbolic", _curved("hyperbolic")),
        Method("learned", "learned K", _curved("learned")),
        Method("mixed", "mixed", _curved("mixed")),
        Method("auto", "auto", _curved("auto")),
        Method("nca", "NCA (scikit-learn)", _nca),
        Method(
            "metric-learn", "LMNN (metric-learn)", _lmnn_of("metric_learn", "LMNN"), "metric_learn"
        ),
        Method(
            "pylmnn", "LMNN (pylmnn)", _lmnn_of("pylmnn", "LargeMarginNearestNeighbor"), "pylmnn"
        ),
    )
}

OURS = ("knn", "flat", "elliptic", "hyperbolic", "learned", "mixed", "auto")
"""What is always compared: the plain one, and every geometry."""

PEERS = {
    "knn": (BASELINE,),
    "nca": ("nca",),
    "lmnn": ("metric-learn", "pylmnn"),
    "metric-learn": ("metric-learn",),
    "pylmnn": ("pylmnn",),
}
"""What may be asked for, and the methods that it stands for."""


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
        Of "nca", "lmnn" (metric-learn and pylmnn), "knn", which is in every comparison anyway.

    Examples
    --------
    >>> choose_peers(["nca", "knn"])
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
        chosen |= dict.fromkeys(peer for peer in present if peer not in OURS)
        if not present:
            missing = " or ".join(PEERS[name])
            notes.append(f"{name} is left out: no {missing} is installed here.")
    return tuple(chosen), tuple(notes)
