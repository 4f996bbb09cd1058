"""A fitted kernel estimator as plain arrays, texts and numbers, and back again, for model files."""

from typing import Any, cast

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels.classifier import CurvedKernelClassifier
from cayleyklein.kernels.columns import ColumnDistance, NormalScores
from cayleyklein.kernels.fitting import FittedSum, standard_metric
from cayleyklein.kernels.machine import Distance, KernelMachine, Tuning, metric_distance
from cayleyklein.kernels.regressor import CurvedKernelRegressor
from cayleyklein.kernels.sums import PARTS, VOTING, LabelSum, NumberSum
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.selection.trials import Selection

ARRAYS = ("numbers", "targets", "coefficients", "offset", "noise")
ERRORS = ("_errors", "_error_shares", "_judged")


def kernel_state(model: CurvedKernelClassifier | CurvedKernelRegressor) -> dict[str, Any]:
    """Return what a model has learned, but for its rows, targets, weights and metric."""
    found, ranks, machines = model._sum, model._sum.ranks, {}
    for name, machine in found.machines.items():
        numbers = [machine.gamma, *machine.tuning, machine.log_likelihood]
        machines[name] = {
            **{each: np.array(getattr(machine, each)) for each in ARRAYS},
            "column_weights": getattr(machine.distance, "weights", None),
            "scalars": np.array(numbers),
        }
    return {
        "weights": dict(model.part_weights_),
        "shares": dict(model.part_shares_),
        "n_neighbors": {name: int(k) for name, k in model.n_neighbors_.items()},
        "ranks": None if ranks is None else [list(ranks.values), list(ranks.below)],
        "machines": machines,
        "task": dict(vars(model._task)),
        "errors": {name: getattr(model, name) for name in ERRORS if hasattr(model, name)},
        "selection": [model.selection_.chosen, model.selection_.reason],
    }


def restore_kernel(
    model: CurvedKernelClassifier | CurvedKernelRegressor, state: dict[str, Any], given: GivenRows,
    metric: Metric | None,
) -> None:  # fmt: skip
    """Give an unfitted model what another one has learned, with the same rows and metric."""
    if set(state["weights"]) - set(PARTS) or isinstance(given.X, tuple):
        raise InvalidInputError("the parts of its sum are not known")
    ranks = NormalScores(*map(tuple, state["ranks"])) if state["ranks"] else None
    seen = given if ranks is None else given.mapped(ranks.transform)
    X: Any = seen.X
    machines, known = {}, cast(Metric, metric)
    for name, each in state["machines"].items():
        columns = each["column_weights"]
        distance: Distance = metric_distance(known) if columns is None else ColumnDistance(columns)
        gamma, *tuning, likelihood = each["scalars"].tolist()
        arrays = {array: each[array] for array in ARRAYS}
        machines[name] = KernelMachine(
            distance, gamma, Tuning(*tuning), X[each["numbers"]], log_likelihood=likelihood,
            **arrays,
        )  # fmt: skip
    if isinstance(model, CurvedKernelClassifier):
        task: Any = LabelSum(**state["task"])
        model.classes_ = np.asarray(given.classes)
    else:
        task = NumberSum(**state["task"])
        for name in ERRORS:
            setattr(model, name, state["errors"][name])
    k = state["n_neighbors"]
    voters = {
        name: model._make_voters(seen, standard_metric(seen) if name == "plain" else known)
        for name in PARTS
        if name in VOTING and name in k
    }
    chosen, reason = state["selection"]
    selection = Selection(chosen, reason, max(k.values(), default=0))
    found = FittedSum(machines, voters, metric, None, ranks, state["weights"], k, selection)
    model.n_features_in_ = given.n_columns
    model._keep(task, given, found)
    model.part_shares_ = dict(state["shares"])
