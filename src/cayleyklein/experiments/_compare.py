"""The default classifier, every geometry and others, on the same splits of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from cayleyklein._estimators import as_jobs
from cayleyklein._validation import about, as_callback, as_count, as_path, as_texts
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import (
    BASELINE,
    COMPARED,
    METHODS,
    check_methods,
    choose_peers,
)
from cayleyklein.experiments._outcomes import (
    Outcome,
    Scores,
    evaluate,
    gains_over,
    learned_alpha,
    learned_geometry,
)
from cayleyklein.experiments._problems import Problem, load_problem
from cayleyklein.experiments._protocols import Split, repeated_splits
from cayleyklein.experiments._runs import (
    ProgressCallback,
    Step,
    in_parallel,
    provenance,
    write_whole,
)
from cayleyklein.experiments._statistics import PairedDifference
from cayleyklein.tables import check_writable

__all__ = ["Comparison", "DataSetComparison", "MethodResult", "compare"]

DEFAULT_DATA = ("wine", "balance", "vowel")


@dataclass(frozen=True)
class MethodResult(Scores):
    """A method on the splits of one data set.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each split.
    method : str
    over_baseline, over_flat : PairedDifference
        To Euclidean k-NN and to flat LMNN.
    is_better : bool
        Whether the gain over Euclidean k-NN passes a corrected test at 5 %, adjusted for all the
        methods that were tried (Holm).

    Examples
    --------
    >>> from cayleyklein.experiments import compare
    >>> found = compare("wine", methods=["knn", "flat"], n_splits=2)
    >>> flat = found.datasets[0]["flat"]
    >>> flat.title, len(flat.outcomes)
    ('flat LMNN', 2)
    >>> sorted(flat.to_dict())[:3]
    ['accuracy', 'alpha', 'fit_seconds']
    """

    method: str
    over_baseline: PairedDifference
    over_flat: PairedDifference
    is_better: bool

    @property
    def title(self) -> str:
        """How tables call it."""
        return METHODS[self.method].title

    @property
    def fit_seconds(self) -> float:
        """The median CPU time of a fit."""
        return float(np.median([outcome.fit_seconds for outcome in self.outcomes]))

    @property
    def predict_seconds(self) -> float:
        """The median CPU time of predicting the test rows."""
        return float(np.median([outcome.predict_seconds for outcome in self.outcomes]))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        learned = learned_geometry(self.outcomes)
        return {
            "method": self.method,
            **super().to_dict(),
            "over_knn": self.over_baseline.to_dict(),
            "over_flat": self.over_flat.to_dict(),
            "is_better_than_knn": self.is_better,
            "fit_seconds": self.fit_seconds,
            "predict_seconds": self.predict_seconds,
            "learned": None if learned is None else learned._asdict(),
            "alpha": learned_alpha(self.outcomes),
        }


@dataclass(frozen=True)
class DataSetComparison:
    """Every method on one data set.

    Attributes
    ----------
    problem : Problem
    results : tuple of MethodResult

    Examples
    --------
    >>> from cayleyklein.experiments import compare
    >>> found = compare("wine", methods=["knn", "flat"], n_splits=2)
    >>> wine = found.datasets[0]
    >>> [result.method for result in wine.results], wine.to_dict()["size"]
    (['knn', 'flat'], '178 rows, 13 columns, 3 classes')
    """

    problem: Problem
    results: tuple[MethodResult, ...]

    def __getitem__(self, method: str) -> MethodResult:
        return next(result for result in self.results if result.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "name": self.problem.name,
            "size": self.problem.describe(),
            "notes": list(self.problem.notes),
            "methods": [result.to_dict() for result in self.results],
        }


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    datasets : tuple of DataSetComparison
    n_neighbors : int or None
        Neighbours that vote; None where each method chose by itself.
    n_splits : int
    test_size : float
    notes : tuple of str
        What was left out, and why.
    provenance : dict
        Code, versions, machine and date.

    Examples
    --------
    >>> from cayleyklein.experiments import compare
    >>> found = compare("wine", methods=["knn", "flat"], n_splits=2)
    >>> [dataset.problem.name for dataset in found.datasets], found.to_dict()["n_splits"]
    (['wine'], 2)
    >>> print(found.to_python().splitlines()[1])
    from cayleyklein import CurvedKNeighborsClassifier

    The report is one page with everything in it:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = found.write_report(Path(folder, "wine.html")).read_text("utf-8")
    >>> page == found.to_html()
    True
    """

    datasets: tuple[DataSetComparison, ...]
    n_neighbors: int | None
    n_splits: int
    test_size: float
    notes: tuple[str, ...]
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "format": "cayleyklein-comparison",
            "version": 1,
            "n_neighbors": self.n_neighbors,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "datasets": [dataset.to_dict() for dataset in self.datasets],
            "notes": list(self.notes),
            "provenance": self.provenance,
        }

    def to_html(self, *, n_jobs: int | None = None) -> str:
        """Return the report: one page, with everything in it."""
        from cayleyklein.experiments._comparison_report import comparison_page

        return comparison_page(self, as_jobs(n_jobs))

    def write_report(self, path: str | Path, *, n_jobs: int | None = None) -> Path:
        """Write the report; a file that is there is replaced once the new one is whole."""
        where = as_path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        check_writable(where)  # before the pictures, which take a while
        write_whole(where, self.to_html(n_jobs=n_jobs))
        return where

    def to_python(self) -> str:
        """Return the lines that do the same by hand, on the first data set."""
        problem = self.datasets[0].problem
        k = self.n_neighbors
        votes = "" if k is None else f', n_neighbors={k}, weights="uniform"'
        model = f"CurvedKNeighborsClassifier(geometry=geometry{votes}, random_state=0)"
        pipeline = problem.prepare is not None
        return PYTHON.format(
            load=problem.code,
            model=f"make_pipeline(TableEncoder(), {model})" if pipeline else model,
            pipeline="\nfrom sklearn.pipeline import make_pipeline" * pipeline,
            n=self.n_splits,
            test_size=self.test_size,
        )


PYTHON = """\
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score{pipeline}
from cayleyklein import CurvedKNeighborsClassifier
{load}
splits = StratifiedShuffleSplit({n}, test_size={test_size:g}, random_state=0)
for geometry in ("auto", "flat", "elliptic", "hyperbolic", "learned", "mixed"):
    model = {model}
    scores = cross_val_score(model, X, y, cv=splits)
    print(geometry, scores.mean(), scores.std(ddof=1) / len(scores) ** 0.5)
"""


def compare(
    data: str | Path | Problem | Iterable[str | Path | Problem] = DEFAULT_DATA,
    *,
    target: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    against: Sequence[str] = (),
    methods: Sequence[str] = COMPARED,
    n_neighbors: int | None = None,
    n_splits: int = 5,
    test_size: float = 0.2,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Compare the default classifier, every geometry and others on the same random splits.

    Parameters
    ----------
    data : str, path, Problem or sequence of them, default=("wine", "balance", "vowel")
        Data sets that come along, by name, or files (CSV, TSV, Parquet).
    target : str, optional
        The column of the classes, for files.
    delimiter, encoding : str, optional
        Of files, see :func:`cayleyklein.tables.read_table`.
    against : sequence of str, default=()
        Others to add where they are installed: "metric-learn", "pylmnn", or "lmnn", which is both.
    methods : sequence of str, default=COMPARED
        Of "knn", "auto", "flat", "elliptic", "hyperbolic", "learned", "mixed", "nca", "forest"
        (200 trees) and "svm" (RBF, C and γ cross-validated); all by default. "knn" and "flat", to
        which the others are compared, are always there.
    n_neighbors : int, optional
        Neighbours that vote, all alike. By default each method has its own votes: those of
        :class:`CurvedKNeighborsClassifier`, and 5 for scikit-learn's.
    n_splits : int, default=5
        At least 2, since one says nothing on how sure a difference is.
    test_size : float, default=0.2
        Share of the rows that test.
    n_jobs : int, optional
        Processes; -1 for as many as there are cores. The accuracies do not depend on it.
    progress : callable, optional
        Told a :class:`Step` after each fit.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> result = compare("wine", methods=["knn", "flat"], n_splits=3)
    >>> bool(result.datasets[0]["flat"].accuracy > 0.9)
    True
    """
    if isinstance(data, str | Path | Problem):
        given = [data]
    elif isinstance(data, Iterable):
        given = list(data)
    else:
        raise InvalidInputError(f"Got data={data!r}, but expected names of data sets or of files.")
    if not given:
        raise InvalidInputError("No data to compare on; name a bundled data set or a file.")
    as_jobs(n_jobs)
    as_callback(progress, "progress")
    with about("against"):
        peers, notes = choose_peers(as_texts(against, "against"))
    check_methods(methods)
    wanted = {BASELINE, "flat", *methods, *peers}
    chosen = tuple(method for method in METHODS if method in wanted)
    k = None if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    n_splits = as_count(n_splits, "n_splits")
    if n_splits < 2:
        raise InvalidInputError("Got n_splits=1, but a comparison needs at least 2 splits.")
    problems = [
        d
        if isinstance(d, Problem)
        else load_problem(d, target, delimiter=delimiter, encoding=encoding)
        for d in given
    ]
    splits = [repeated_splits(problem.y, n_splits, test_size) for problem in problems]
    outcomes = run_all(problems, splits, chosen, k, n_jobs, progress)
    return Comparison(
        datasets=tuple(
            DataSetComparison(problem, judge({m: outcomes[i, m] for m in chosen}))
            for i, problem in enumerate(problems)
        ),
        n_neighbors=k,
        n_splits=n_splits,
        test_size=test_size,
        notes=notes,
        provenance=provenance(),
    )


Place = tuple[int, str, int]  # data set, method, split


def run_all(
    problems: Sequence[Problem],
    splits: Sequence[Sequence[Split]],
    methods: Sequence[str],
    k: int | None,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> dict[tuple[int, str], tuple[Outcome, ...]]:
    """Return the outcomes of each data set and method, in the order of the splits."""
    places = [
        (i, method, j)
        for j in range(max(map(len, splits)))
        for i in range(len(problems))
        for method in methods
    ]
    tasks = (
        delayed(run_one)((i, method, j), k, problems[i], splits[i][j]) for i, method, j in places
    )
    found: dict[Place, Outcome] = {}
    for place, outcome in in_parallel(tasks, n_jobs):
        found[place] = outcome
        if progress is not None:
            what = f"{problems[place[0]].name}, {METHODS[place[1]].title}"
            progress(Step(len(found), len(places), what))
    return {
        (i, method): tuple(found[i, method, j] for j in range(len(splits[i])))
        for i in range(len(problems))
        for method in methods
    }


def run_one(place: Place, k: int | None, problem: Problem, split: Split) -> tuple[Place, Outcome]:
    """Evaluate one method on one split, and say which it was."""
    return place, evaluate(place[1], k, problem.X, problem.y, split, problem.prepare)


def judge(outcomes: dict[str, tuple[Outcome, ...]]) -> tuple[MethodResult, ...]:
    """Compare each method with Euclidean k-NN and with flat LMNN, split by split."""
    over_baseline, over_flat = gains_over(BASELINE, outcomes), gains_over("flat", outcomes)
    return tuple(
        MethodResult(
            method=method,
            outcomes=found,
            over_baseline=over_baseline[method].difference,
            over_flat=over_flat[method].difference,
            is_better=over_baseline[method].is_shown,
        )
        for method, found in outcomes.items()
    )
