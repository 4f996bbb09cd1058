"""A fitted kernel estimator as plain arrays, texts and numbers, and back again, for model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels.classifier import CurvedKernelClassifier, LabelTask
from cayleyklein.kernels.columns import ColumnDistance, NormalScores
from cayleyklein.kernels.fitting import FittedSum
from cayleyklein.kernels.machine import KernelMachine, MetricDistance, Tuning
from cayleyklein.kernels.parts import PARTS, VOTING, FittedParts, PartFitter
from cayleyklein.kernels.regressor import CurvedKernelRegressor, NumberTask
from cayleyklein.kernels.score_weights import LabelSum
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.selection.trials import Selection

ARRAYS = ("numbers", "targets", "coefficients", "offset", "noise")


def kernel_state(model: CurvedKernelClassifier | CurvedKernelRegressor) -> dict[str, Any]:
    """Return what a model has learned, but for its rows, targets, weights and metric."""
    found, task = model._sum, model._task
    ranks = found.ranks
    machines = {}
    for name, machine in found.parts.machines.items():
        arrays = {each: np.array(getattr(machine, each)) for each in ARRAYS}
        distance = machine.distance
        weights = distance.weights if isinstance(distance, ColumnDistance) else None
        numbers = [machine.gamma, *machine.tuning, machine.log_likelihood]
        machines[name] = {**arrays, "column_weights": weights, "scalars": np.array(numbers)}
    if isinstance(task, LabelTask):
        facts = {"prior": task.summing.prior, "n_rows": float(task.summing.n_rows)}
    else:
        facts = {"mean": task.mean, "unit": task.unit, "errors": model._errors}
        facts |= {"error_shares": model._error_shares, "judged": bool(model._judged)}
    return {
        "weights": dict(model.part_weights_),
        "shares": dict(model.part_shares_),
        "n_neighbors": {name: int(k) for name, k in model.n_neighbors_.items()},
        "ranks": None if ranks is None else [list(ranks.values), list(ranks.below)],
        "machines": machines,
        "task": facts,
        "selection": [model.selection_.chosen, model.selection_.reason],
    }


def restore_kernel(
    model: CurvedKernelClassifier | CurvedKernelRegressor, state: dict[str, Any], given: GivenRows,
    metric: Metric | None,
) -> None:  # fmt: skip
    """Give an unfitted model what another one has learned, with the same rows and metric."""
    if set(state["weights"]) - set(PARTS) or isinstance(given.X, tuple):
        raise InvalidInputError("the parts of its sum are not known")
    X, ranks = given.X, None
    if state["ranks"] is not None:
        values, below = state["ranks"]
        ranks = NormalScores(tuple(values), tuple(below))
        X = ranks.transform(X)
    machines = {}
    for name, each in state["machines"].items():
        columns = each["column_weights"]
        distance = MetricDistance(metric) if columns is None else ColumnDistance(columns)  # type: ignore[arg-type]
        gamma, *tuning, likelihood = each["scalars"].tolist()
        arrays = {array: each[array] for array in ARRAYS}
        machines[name] = KernelMachine(
            distance, gamma, Tuning(*tuning), X[each["numbers"]], log_likelihood=likelihood,
            **arrays,
        )  # fmt: skip
    facts = state["task"]
    task: Any
    if isinstance(model, CurvedKernelClassifier):
        task = LabelTask(LabelSum(facts["prior"], facts["n_rows"]))
        model.classes_ = np.asarray(given.classes)
    else:
        task = NumberTask(facts["mean"], facts["unit"])
        model._errors, model._error_shares = facts["errors"], facts["error_shares"]
        model._judged = facts["judged"]
    seen = GivenRows(X, given.target, given.weights, given.n_columns, given.classes)
    names = tuple(name for name in PARTS if name in VOTING and name in state["n_neighbors"])
    voters = PartFitter(names, task.targets, model._make_neighbors).voters(seen, metric)
    chosen, reason = state["selection"]
    selection = Selection(chosen, reason, max(state["n_neighbors"].values(), default=0))
    found = FittedSum(
        state["weights"], FittedParts(machines, voters), metric, None, ranks, selection,
        state["n_neighbors"], None,
    )  # fmt: skip
    model.n_features_in_ = given.n_columns
    model._keep(task, given, found)
    model.part_shares_ = dict(state["shares"])
