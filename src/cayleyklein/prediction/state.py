"""A fitted kernel estimator as plain arrays, texts and numbers, and back again, for model files."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.choice import Obtained, Selection
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.parts.base import FitRows, FittedPart
from cayleyklein.parts.boosting import FittedRules
from cayleyklein.parts.cluster import ClusterMachine
from cayleyklein.parts.distances import ColumnDistance, NormalScores, RankDistance
from cayleyklein.parts.estimator import FittedEstimator
from cayleyklein.parts.kernel import (
    Distance,
    KernelMachine,
    Landmarks,
    Leaves,
    MetricDistance,
    Tuning,
)
from cayleyklein.parts.leaves import PIVOTS, LeafTree, is_tree
from cayleyklein.parts.registry import PARTS, PartOptions
from cayleyklein.parts.tree_arrays import Trees, check_trees
from cayleyklein.parts.votes import FittedVotes
from cayleyklein.prediction.answers import AnyAnswer, Classes, Numbers
from cayleyklein.prediction.kernel_predictor import KernelPredictor
from cayleyklein.prediction.scales import TARGET_SCALES, NumberScale
from cayleyklein.prediction.sums import Sum, SumFit

ARRAYS = ("numbers", "targets", "offset", "noise")
LANDMARK_ARRAYS = ("numbers", "values", "root", "known")
LEAF_ARRAYS = ("order", "starts", "coefficients", "shared")
ERRORS = ("_errors", "_error_shares", "_judged")


def kernel_state(model: KernelPredictor) -> dict[str, Any]:
    """Return what a model has learned, but for its rows, targets, weights and metric."""
    found = model.fitted_sum
    check_parts(found.parts)
    machines = {
        name: machine_state(part)
        for name, part in found.parts.items()
        if isinstance(part, KernelMachine)
    }
    return {
        "weights": dict(model.part_weights_),
        "shares": dict(model.part_shares_),
        "n_neighbors": {name: int(k) for name, k in model.n_neighbors_.items()},
        "ranks": rank_state(found.ranks),
        "machines": machines,
        "rules": rules_state(found.parts.get("rules")),
        "task": answer_state(found.answer),
        "errors": {name: getattr(model, name) for name in ERRORS if hasattr(model, name)},
        "left_out": model._left_out,
        "selection": [model.selection_.chosen, model.selection_.reason],
    }


def restore_kernel(
    model: KernelPredictor, state: dict[str, Any], given: GivenRows, metric: Metric | None
) -> None:
    """Give an unfitted model what another one has learned, with the same rows and metric."""
    names = set(state["weights"])
    if not names or names - set(PARTS) or isinstance(given.X, tuple):
        raise InvalidInputError("the parts of its sum are not known")
    ranks = restored_ranks(state["ranks"])
    answer: AnyAnswer
    if given.classes is not None:
        answer = Classes(**state["task"])
    else:
        answer = restored_numbers(state["task"])
    modelled = replace(given, target=answer.modelled(given.target))
    seen = modelled if ranks is None else modelled.mapped(ranks.transform)
    k = state["n_neighbors"]
    rows = FitRows(seen, answer)
    parts: dict[str, FittedPart] = {}
    for name in PARTS:
        if name in state["machines"]:
            X = cast(Floats, seen.X)
            parts[name] = restored_machine(state["machines"][name], X, metric)
        elif name in k:
            part = PARTS[name](PartOptions(n_jobs=model.n_jobs))
            parts[name] = part.fit(rows, metric, k[name])
        elif name == "rules" and state["rules"] is not None:
            parts[name] = restored_rules(state["rules"], answer, given)
    if set(state["weights"]) - set(parts):
        raise InvalidInputError("a part of its sum is missing")
    chosen, reason = state["selection"]
    selection = Selection(chosen, reason, max(k.values(), default=0))
    model.n_features_in_ = given.n_columns
    found = Sum(answer, parts, state["weights"], ranks)
    left_out = state.get("left_out")
    model._keep(given, SumFit(found, Obtained(metric), selection, None, left_out))
    model.part_shares_ = dict(state["shares"])
    if given.classes is None:
        for name in ERRORS:
            setattr(model, name, state["errors"][name])


def check_parts(parts: dict[str, FittedPart]) -> None:
    """Refuse parts that a model file cannot hold."""
    for name, part in parts.items():
        if isinstance(part, FittedEstimator):
            kind = type(part.estimator).__name__
            raise InvalidInputError(
                f"No model file can hold the part {name!r} ({kind}) safely. Leave it out of "
                f"parts=, or keep the model with joblib, for those who trust its source."
            )
        if isinstance(part, ClusterMachine):
            part.refuse_to_leave()
        if not isinstance(part, KernelMachine | FittedVotes | FittedRules):
            raise InvalidInputError(f"The part {name!r} cannot be saved in a model.")


def rules_state(part: FittedPart | None) -> dict[str, Any] | None:
    """Return boosted trees as arrays."""
    if not isinstance(part, FittedRules):
        return None
    return {
        "n_rounds": part.n_rounds,
        "known": None if part.known is None else np.asarray(part.known, dtype=np.int64),
        "trees": [trees._asdict() for trees in part.trees],
    }


def restored_rules(state: dict[str, Any], answer: AnyAnswer, given: GivenRows) -> FittedRules:
    """Return boosted trees from their arrays, if they can be followed for rows of that width."""
    known = state["known"]
    n_scores = len(answer.prior) if isinstance(answer, Classes) else len(answer.mean)
    trees = tuple(Trees(**each) for each in state["trees"])
    widths = [1] * n_scores
    if known is not None:
        in_order = len(known) > 0 and (np.diff(known) > 0).all()
        if not in_order or known[0] < 0 or known[-1] >= n_scores:
            raise InvalidInputError("the classes of its trees are not known")
        widths = [1 if len(known) <= 2 else len(known)]
    if [len(each.base) for each in trees] != widths:
        raise InvalidInputError("its trees have other scores than its targets")
    for each in trees:
        check_trees(each, given.n_columns)
    return FittedRules(trees, int(state["n_rounds"]), n_scores, answer, known)


def answer_state(answer: AnyAnswer) -> dict[str, Any]:
    state = dict(vars(answer))
    if isinstance(answer, Numbers):
        state["scales"] = [dict(vars(scale)) for scale in answer.scales]
    return state


def restored_numbers(state: dict[str, Any]) -> Numbers:
    scales = tuple(NumberScale(**scale) for scale in state["scales"])
    if not len(scales) == len(state["mean"]) or {scale.kind for scale in scales} - set(
        TARGET_SCALES
    ):
        raise InvalidInputError("the scales of its targets are not known")
    return Numbers(**{**state, "scales": scales})


def machine_state(machine: KernelMachine) -> dict[str, Any]:
    """Return a machine as arrays; its rows are fitted ones, and its metric is kept elsewhere."""
    distance = machine.distance
    ranks = distance.ranks if isinstance(distance, RankDistance) else None
    columns = distance.columns if isinstance(distance, RankDistance) else distance
    state: dict[str, Any] = {name: np.array(getattr(machine, name)) for name in ARRAYS}
    marks = machine.landmarks
    state["landmarks"] = {name: np.array(getattr(marks, name)) for name in LANDMARK_ARRAYS}
    state["views"] = [leaves_state(view) for view in machine.views]
    state["column_weights"] = getattr(columns, "weights", None)
    state["ranks"] = rank_state(ranks)
    state["scalars"] = np.array([machine.gamma, *machine.tuning, machine.log_likelihood])
    return state


def restored_machine(state: dict[str, Any], X: Floats, metric: Metric | None) -> KernelMachine:
    """Return a machine from its arrays, with the rows that it was fitted to."""
    distance: Distance
    if state["column_weights"] is None:
        distance = MetricDistance(cast(Metric, metric))
    else:
        columns = ColumnDistance(state["column_weights"])
        ranks = restored_ranks(state["ranks"])
        distance = columns if ranks is None else RankDistance(ranks, columns)
    gamma, relative, ridge, likelihood = state["scalars"].tolist()
    landmarks = restored_landmarks(state["landmarks"], X)
    n_places = len(state["numbers"])
    if not is_within(state["numbers"], len(X)) or not state["views"]:
        raise InvalidInputError("the rows of its machines are not known")
    views = tuple(restored_leaves(each, n_places, len(landmarks)) for each in state["views"])
    return KernelMachine(
        distance=distance,
        gamma=gamma,
        tuning=Tuning(relative, ridge),
        rows=X[state["numbers"]],
        log_likelihood=likelihood,
        views=views,
        landmarks=landmarks,
        n_trees=len(views),
        **{name: state[name] for name in ARRAYS},
    )


def restored_landmarks(state: dict[str, Any], X: Floats) -> Landmarks:
    """Return landmarks from their arrays, with their rows."""
    m = len(state["numbers"])
    known = (
        is_within(state["numbers"], len(X))
        and len(state["values"]) == m
        and state["root"].shape == state["known"].shape == (m, m)
    )
    if not known:
        raise InvalidInputError("the landmarks of its machines are not known")
    return Landmarks(X=X[state["numbers"]], **{name: state[name] for name in LANDMARK_ARRAYS})


def leaves_state(view: Leaves) -> dict[str, Any]:
    """Return leaves as arrays."""
    state: dict[str, Any] = {name: np.array(getattr(view, name)) for name in LEAF_ARRAYS}
    state["tree"] = dict(vars(view.tree))
    return state


def restored_leaves(state: dict[str, Any], n_places: int, n_landmarks: int) -> Leaves:
    """Return leaves from their arrays, if every row can find its leaf, and each leaf its rows."""
    tree = LeafTree(**state["tree"])
    starts = state["starts"]
    n_pivots = min(PIVOTS, n_landmarks)
    known = (
        is_tree(tree)
        and (tree.n_leaves == 1 or tree.directions.shape[1] == n_pivots)
        and len(starts) == len(state["shared"]) + 1 == tree.n_leaves + 1
        and starts[0] == 0
        and starts[-1] == len(state["order"]) == len(state["coefficients"])
        and (np.diff(starts) >= 0).all()
        and is_within(state["order"], n_places)
        and state["shared"].shape[1] == n_landmarks
    )
    if not known:
        raise InvalidInputError("the leaves of its machines are not known")
    return Leaves(tree=tree, first=0, **{name: state[name] for name in LEAF_ARRAYS})


def is_within(numbers: Any, n: int) -> bool:
    """Say whether numbers are whole ones from 0 to n - 1."""
    return numbers.dtype.kind == "i" and bool(((numbers >= 0) & (numbers < n)).all())


def rank_state(ranks: NormalScores | None) -> list[list[Floats]] | None:
    return None if ranks is None else [list(ranks.values), list(ranks.below)]


def restored_ranks(state: Any) -> NormalScores | None:
    return NormalScores(*map(tuple, state)) if state else None
