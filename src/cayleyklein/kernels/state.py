"""A fitted kernel estimator as plain arrays, texts and numbers, and back again, for model files."""

from typing import Any, cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import estimator, fitting, machine, sums
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.selection.procedure import Selection

ARRAYS = ("numbers", "targets", "coefficients", "offset", "noise")
ERRORS = ("_errors", "_error_shares", "_judged")


def kernel_state(model: estimator.KernelEstimator) -> dict[str, Any]:
    """Return what a model has learned, but for its rows, targets, weights and metric."""
    ranks, machines = model._sum.ranks, {}
    for name, fitted in model._sum.machines.items():
        machines[name] = {
            **{each: np.array(getattr(fitted, each)) for each in ARRAYS},
            "column_weights": getattr(fitted.distance, "weights", None),
            "scalars": np.array([fitted.gamma, *fitted.tuning, fitted.log_likelihood]),
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
    model: estimator.KernelEstimator, state: dict[str, Any], given: GivenRows,
    metric: Metric | None,
) -> None:  # fmt: skip
    """Give an unfitted model what another one has learned, with the same rows and metric."""
    parts = set(state["weights"])
    if not parts or parts - set(sums.PARTS) or isinstance(given.X, tuple):
        raise InvalidInputError("the parts of its sum are not known")
    ranks = machine.NormalScores(*map(tuple, state["ranks"])) if state["ranks"] else None
    seen = given if ranks is None else given.mapped(ranks.transform)
    machines, known, X = {}, cast(Metric, metric), cast(Floats, seen.X)
    for name, each in state["machines"].items():
        columns = each["column_weights"]
        distance: Any = machine.ColumnDistance(columns)
        if columns is None:
            distance = machine.metric_distance(known)
        gamma, *tuning, likelihood = each["scalars"].tolist()
        machines[name] = machine.KernelMachine(
            distance, gamma, machine.Tuning(*tuning), X[each["numbers"]],
            log_likelihood=likelihood, **{array: each[array] for array in ARRAYS},
        )  # fmt: skip
    task: sums.ScoreSum
    if given.classes is not None:
        task, model.classes_ = sums.LabelSum(**state["task"]), given.classes
    else:
        task = sums.NumberSum(**state["task"])
        for name in ERRORS:
            setattr(model, name, state["errors"][name])
    k, (chosen, reason) = state["n_neighbors"], state["selection"]
    voters = {
        name: model._make_voters(seen, fitting.standard_metric(seen) if name == "plain" else known)
        for name in sums.PARTS
        if name in sums.VOTING and name in k
    }
    selection = Selection(chosen, reason, max(k.values(), default=0))
    found = fitting.FittedSum(machines, voters, metric, None, ranks, state["weights"], k, selection)
    model.n_features_in_ = given.n_columns
    model._keep(task, given, found)
    model.part_shares_ = dict(state["shares"])
