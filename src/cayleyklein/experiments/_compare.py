"""Our default, every geometry and other methods on the same random splits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cayleyklein._validation import as_count, as_path, expect
from cayleyklein.curvature import CurvatureEstimate
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import _report as report
from cayleyklein.experiments import page as html
from cayleyklein.experiments._runs import ProgressCallback, provenance, run_cells, write
from cayleyklein.experiments.methods import BASELINE, COMPARED, METHODS, Cell, check_methods
from cayleyklein.experiments.problems import Problem, load_problem, repeated_splits
from cayleyklein.experiments.scores import Result, summarize


@dataclass(frozen=True)
class Comparison:
    """Results of :func:`compare`; ``comparison[dataset, method]`` is one of them.

    Attributes
    ----------
    problems : tuple of Problem
        The data sets.
    results : list of dict
        For each data set and method: "accuracy" and "log_loss", or "r2", "rmse" and "mae" where
        numbers are predicted; "standard_error" of the first, "over_knn" and "over_flat" (the
        :class:`PairedDifference` to standardised k-NN and to flat LMNN or MLKR),
        "is_better_than_knn" and "is_better_than_flat" (significant at 5 %, adjusted for the number
        of methods), "fit_seconds" and "predict_seconds" (median CPU time), "learned" (geometry and
        curvatures), "alpha", and "outcomes", the same for each split.
    n_neighbors : int or None
        Neighbours that vote; None for the default of each method.
    n_splits, test_size : int and float
        Number of splits, and share of the rows that are tested.
    provenance : dict
        Code, versions, machine and date.

    Examples
    --------
    >>> found = compare("wine", methods=["knn", "flat"], n_splits=2)
    >>> found["wine", "flat"]["accuracy"] > 0.9, found.to_dict()["n_splits"]
    (True, 2)
    >>> print(found.tables()[0].title)
    wine: 178 rows, 13 columns, 3 classes
    >>> print(found.to_python().splitlines()[3].strip(), found.to_html()[:15])
    load_problem('wine'), <!DOCTYPE html>
    >>> found.overview().columns[1], found.curvatures["wine"].kind
    ('best mean', 'labels')
    >>> found.write_report("wine.html")  # doctest: +SKIP
    """

    problems: tuple[Problem, ...]
    results: list[Result]
    n_neighbors: int | None
    n_splits: int
    test_size: float
    provenance: dict[str, Any]

    def __getitem__(self, dataset_and_method: tuple[str, str]) -> Result:
        return next(r for r in self.results if (r["dataset"], r["method"]) == dataset_and_method)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        datasets = []
        for problem in self.problems:
            estimate = self.curvatures[problem.name]
            datasets.append(
                {
                    "name": problem.name,
                    "size": problem.describe(),
                    "notes": list(problem.notes),
                    "curvature": None if estimate is None else estimate.verdict,
                }
            )
        return {
            "format": "cayleyklein-comparison",
            "version": 2,
            "n_neighbors": self.n_neighbors,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "datasets": datasets,
            "results": self.results,
            "provenance": self.provenance,
        }

    @cached_property
    def curvatures(self) -> dict[str, CurvatureEstimate | None]:
        """How curved each data set is, None where that cannot be estimated; takes a second each."""
        return {problem.name: report.curvature_of(problem) for problem in self.problems}

    @property
    def _parts(self) -> list[report.ProblemResults]:
        parts = []
        for problem in self.problems:
            results = [result for result in self.results if result["dataset"] == problem.name]
            parts.append((problem, results, self.curvatures[problem.name]))
        return parts

    def overview(self) -> html.ReportTable:
        """Return the best method for each data set, whether that is shown, and how curved it is."""
        return report.overview(self._parts)

    def tables(self) -> list[html.ReportTable]:
        """Return a table for each data set."""
        return [report.dataset_table(*part) for part in self._parts]

    def to_python(self) -> str:
        """Return Python code that does the same."""
        methods = [*dict.fromkeys(result["method"] for result in self.results)]
        given = {"methods": methods, "n_neighbors": self.n_neighbors, "n_splits": self.n_splits}
        options = "".join(f"    {name}={value!r},\n" for name, value in given.items())
        data = "".join(f"    {problem.code},\n" for problem in self.problems)
        return (
            f"from cayleyklein.experiments import compare, load_problem\n\n"
            f"data = [\n{data}]\nfound = compare(\n    data,\n{options}    "
            f"test_size={self.test_size!r},\n)\nfor result in found.results:\n    "
            f'print(result["dataset"], result["title"], result.get("accuracy", result.get("r2")))\n'
        )

    def to_html(self) -> str:
        """Return the report as one page that needs no other file."""
        votes = "" if self.n_neighbors is None else f" ({self.n_neighbors} votes)"
        sections = [self.overview().to_html(kind="cards")]
        for part, table in zip(self._parts, self.tables(), strict=True):
            drawn = report.dataset_pictures(*part, self.n_neighbors)
            sections.append(table.to_html(after=report.fit_notes(part[1]) + drawn))
        return html.page(
            f"Curved metrics on {', '.join(problem.name for problem in self.problems)}",
            f"Prediction by kernel machines and by nearest neighbours{votes} in learned metrics, "
            f"and by other methods, over {self.n_splits} random splits with "
            f"{100 * self.test_size:.3g} % of the rows for testing.",
            sections,
            report.HOW_TO_READ,
            self.provenance,
            self.to_python(),
        )

    def write_report(self, path: str | Path) -> Path:
        """Write the report, and make its folder; an error leaves the old file."""
        where = as_path(path)
        write(where, self.to_html())
        return where


def compare(
    data: str | Path | Problem | Iterable[str | Path | Problem] = ("wine", "balance", "vowel"),
    *,
    methods: Sequence[str] = COMPARED,
    n_neighbors: int | None = None,
    n_splits: int = 5,
    test_size: float = 0.2,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **table: Any,
) -> Comparison:
    """Compare the default metric, every geometry and other methods on the same splits.

    Parameters
    ----------
    data : str, path, Problem or sequence of them, default=("wine", "balance", "vowel")
        Names of data sets (see :func:`load_problem`), or files of tables.
    methods : sequence of str, default=COMPARED
        Any of "knn", "kernel", "neighbors", "flat", "elliptic", "hyperbolic", "learned", "mixed",
        "nca", "forest" (200 trees) and "svm" (RBF, C and γ cross-validated), all by default. "knn"
        and "flat" are always added: the others are compared with them. Numbers have neither "mixed"
        nor "nca".
    n_neighbors : int, optional
        Number of neighbours that vote, with equal weights; by default that of
        :class:`CurvedKNeighborsClassifier`, and 5 for scikit-learn's.
    n_splits : int, default=5
        Number of splits, at least 2: a single split cannot show how certain a difference is.
    test_size : float, default=0.2
        Share of the rows that are tested.
    n_jobs : int, optional
        Number of processes; -1 takes one per core. The accuracies do not depend on it.
    progress : callable, optional
        Called after each fit with the number of finished fits, of all fits, and a description.
    **table : options of :func:`load_problem` for files
        Such as the column to predict: ``target="price"``.

    Examples
    --------
    >>> compare("wine", methods=["knn"], n_splits=2)["wine", "knn"]["accuracy"] > 0.9
    True
    """
    if isinstance(data, str | Path | Problem):
        data = [data]
    expect(isinstance(data, Iterable), "data", data, "names of data sets or of files")
    wanted = {BASELINE, "flat", *check_methods(methods)}
    chosen = [method for method in METHODS if method in wanted]
    k = None if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    expect(as_count(n_splits, "n_splits") > 1, "n_splits", n_splits, "at least 2 splits")
    problems: dict[str, Problem] = {}
    for given in data:
        problem = given if isinstance(given, Problem) else load_problem(given, **table)
        is_new = problem.name not in problems  # files in two folders may have one name
        name = problem.name if is_new else f"{problem.name} ({len(problems) + 1})"
        problems[name] = replace(problem, name=name)
    if not problems:
        raise InvalidInputError("No data to compare on; name a bundled data set or a file.")
    splits = {name: repeated_splits(p, n_splits, test_size) for name, p in problems.items()}
    cells = []
    for name, problem in problems.items():
        possible = [method for method in chosen if problem.task in METHODS[method].tasks]
        cells += [Cell(name, method, k) for method in possible]
    outcomes = run_cells(cells, problems, splits, n_jobs, progress)
    results = summarize(outcomes)
    used = tuple(problems.values())
    return Comparison(used, results, k, int(n_splits), test_size, provenance())
