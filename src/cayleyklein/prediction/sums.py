"""A weighted sum of parts: how it is fitted, and what it adds up.

Up to `folds.FOLDS_UP_TO` places, three folds weigh the parts: metric, column weights and machines
of a fold are learned without its held-out rows. Parts choose their settings by leaving rows out,
and votes their number of neighbours on the folds. Of more rows one part is held out, and the metric
is learned from a sample of the others. Kernel machines are exact, or have landmarks and leaves, and
predict each of the held-out rows without it.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning import folds, samples
from cayleyklein.learning.choice import (
    MetricRequest,
    Obtained,
    Selection,
    obtain_metric,
)
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.parts.base import (
    AnyQueries,
    FitRows,
    FittedPart,
    Part,
    TableRows,
    mapped_queries,
    mapped_rows,
    numbers_of,
)
from cayleyklein.parts.distances import EXACT_PLACES, NormalScores, sample_size
from cayleyklein.parts.kernel import KernelPart
from cayleyklein.parts.landmarks import fit_part
from cayleyklein.parts.many import ManyRows
from cayleyklein.parts.places import (
    count_rows,
    means_of_pairs,
    places_and_pairs,
    pool_pairs,
    pool_rows,
)
from cayleyklein.prediction.answers import AnyAnswer, Numbers
from cayleyklein.prediction.held_out import (
    HeldOut,
    judged,
    weights_that_count,
    worth_asking,
)

# Distinct rows beyond which metrics of folds are learned in one pass. On 14 mixed tables of 1,500
# rows a fit takes a quarter less time, and log loss is the same, as on the five numeric tables of
# about that size (-0.0001 ± 0.0003); on 15 numeric ones of 500 rows it would rise by
# 0.0026 ± 0.0011.
QUICK_FROM = 1000


@dataclass(frozen=True)
class Sum:
    """Fitted parts by name, and their weights.

    `ranks` turns columns into scores of their ranks before any part sees them. Parts that have no
    weight may be there, for what else they know.
    """

    answer: AnyAnswer
    parts: dict[str, FittedPart]
    weights: dict[str, float]
    ranks: NormalScores | None = None

    def seen(self, X: AnyQueries) -> AnyQueries:
        """Return checked rows as the parts see them."""
        return X if self.ranks is None else mapped_queries(self.ranks.transform, X)

    def scores(self, X: AnyQueries) -> dict[str, Any]:
        """Return the scores (m, t) of checked rows, by each part that has a weight."""
        rows = self.seen(X)
        found = {}
        for name in self.weights:
            part = self.parts[name]
            asked = cast(TableRows, rows).table if part.takes_tables else numbers_of(rows)
            found[name] = part.scores(asked)
        return found

    def total(self, X: AnyQueries) -> Any:
        """Return the weighted sum (m, t) of the scores of checked rows."""
        scores = self.scores(X)
        return sum(weight * scores[name] for name, weight in self.weights.items())

    def spreads(self, X: AnyQueries) -> Floats:
        """Return the standard deviation (m,) of new numbers, in units of σ."""
        return spread_of(self.parts, numbers_of(self.seen(X)))

    @property
    def takes_tables(self) -> bool:
        """Whether rows to predict must come with their table."""
        return any(self.parts[name].takes_tables for name in self.weights)


@dataclass(frozen=True)
class SumRequest:
    """What was asked of a sum.

    Attributes
    ----------
    parts : sequence of Part
    rank_part : Part or None
        The kernel in ranks of columns, to add where a column has a heavy tail.
    ranked : bool
        Whether all parts see scores of the ranks of columns.
    answer : Classes or Numbers
    metric : MetricRequest
    n_landmarks : int or None
        Of many rows; None for as many as earn it.
    seed : int
        Draws the folds.
    """

    parts: Sequence[Part]
    rank_part: Part | None
    ranked: bool
    answer: AnyAnswer
    metric: MetricRequest
    n_landmarks: int | None
    seed: int


@dataclass(frozen=True)
class SumFit:
    """A fitted sum, where its metric came from, and how held-out rows judged it.

    `left_out` are the sums (n, t) of scores of all given rows by folds without them, NaN where
    there are none; None if some rows were never held out.
    """

    sum: Sum
    obtained: Obtained
    selection: Selection
    held_out: HeldOut | None
    left_out: Floats | None = None


def spread_of(parts: dict[str, FittedPart], X: Floats) -> Floats:
    """Return the standard deviation (m,) of new numbers, in units of σ, by the parts that know."""
    known = [found for part in parts.values() if (found := part.variances(X)) is not None]
    return np.sqrt(np.mean(known, axis=0)) if known else np.ones(len(X))


def learn_metric(parts: Sequence[Part], request: MetricRequest, given: GivenRows) -> Obtained:
    """Return the metric for parts that need one."""
    if not any(part.needs_metric for part in parts):
        return Obtained(None)
    return obtain_metric(request, given)


def fit_few(request: SumRequest, given: GivenRows) -> SumFit:
    """Fit the sum to rows in memory by folds.

    If the ranks of columns are clearly better than the columns, all parts are fitted to ranks.
    """
    if request.rank_part is None:
        return fit_by_folds(request, given)
    found = fit_by_folds(with_rank_part(request), given)
    if ranks_win(found.held_out):
        return fit_by_folds(replace(request, rank_part=None, ranked=True), given)
    return found


def with_rank_part(request: SumRequest) -> SumRequest:
    """Return the request with the kernel of ranks behind that of columns."""
    parts: list[Part] = []
    for part in request.parts:
        parts.append(part)
        if part.name == "columns" and request.rank_part is not None:
            parts.append(request.rank_part)
    return replace(request, parts=parts, rank_part=None)


def ranks_win(held_out: HeldOut | None) -> bool:
    """Say whether the kernel of ranks alone is clearly better than that of columns alone."""
    if held_out is None:
        return False
    losses = {
        name: held_out.answer.losses(held_out.best_multiple(name), held_out.truth)
        for name in ("columns", "ranks")
    }
    gain, error = samples.gain_of(losses["columns"], losses["ranks"], held_out.shares)
    return gain > 2 * error


def fit_by_folds(request: SumRequest, given: GivenRows) -> SumFit:
    """Fit the parts to rows in memory, and weigh them by folds."""
    parts, answer = request.parts, request.answer
    ranks = None
    if request.ranked:
        ranks = NormalScores.of(cast(Floats, given.X), given.weights)
        given = given.mapped(ranks.transform)
    obtained = learn_metric(parts, request.metric, given)
    counts, counted = count_rows(given)
    rows = FitRows(counts, answer, counted)
    fitted = {part.name: part.fit(rows, obtained.metric) for part in parts if not part.fits_last}
    settings = {name: part.settings for name, part in fitted.items()}
    held_out = predict_folds(request, rows, settings)

    def fit_with(part: Part, chosen: Any) -> FittedPart:
        if part.fits_last:
            return part.fit(rows, obtained.metric, chosen)
        return fitted[part.name].with_settings(chosen)

    if held_out is not None:
        found = weighed(parts, fit_with, obtained, held_out, ranks)
        return replace(found, left_out=left_out_totals(found, rows.given))
    fitted |= {part.name: part.fit(rows, obtained.metric) for part in parts if part.fits_last}
    n = len(rows.places.X)
    reason = f"too few distinct rows, {n}, to hold some out"
    numbers = [k for k in settings.values() if isinstance(k, int)]
    name = " + ".join(part.name for part in parts)
    selection = Selection(name, reason, max(numbers, default=0))
    weights = answer.start_weights([part.leads for part in parts]).tolist()
    total = Sum(answer, fitted, dict(zip(fitted, weights, strict=True)), ranks)
    return SumFit(total, obtained, selection, None)


def left_out_totals(found: SumFit, given: GivenRows) -> Floats:
    """Return the sums (n, t) of scores of given rows by folds without them; NaN without any."""
    held_out = cast(HeldOut, found.held_out)
    scores = np.zeros_like(next(iter(held_out.scores.values())))
    for name, weight in found.sum.weights.items():
        scores += weight * held_out.scores[name]
    _, pair = places_and_pairs(given)
    numbers = cast(Ints, held_out.numbers)
    return means_of_pairs(given, pair, numbers, held_out.shares, scores)


def predict_folds(request: SumRequest, rows: FitRows, settings: dict[str, Any]) -> HeldOut | None:
    """Predict held-out rows, fold by fold; None where no fold has what it needs to learn."""
    parts, answer = request.parts, request.answer
    many = len(rows.places.X) > QUICK_FROM
    quiet = replace(request.metric, callback=None, verbose=False, quick=many)
    trials: dict[str, list[dict[Any, Floats]]] = {part.name: [] for part in parts}
    held: list[GivenRows] = []
    spreads: list[Floats] = []
    given = replace(rows.given, numbers=np.arange(len(rows.given.target)))
    given = given.take(np.flatnonzero(given.weights > 0))
    place, pair = places_and_pairs(given)
    order = np.lexsort((given.weights, pair))  # of their own, so that sums round alike
    given, place, pair = given.take(order), place[order], pair[order]
    for train, out in folds.split_given(given, place, pair, rows.counted, request.seed):
        if train.classes is not None:  # a row of a class that the others lack judges nothing
            known = np.unique(train.target)
            out = out.take(np.flatnonzero(np.isin(out.target, known) & (len(known) > 1)))
        some = FitRows(train, answer, rows.counted)
        if not len(out.target) or len(some.places.X) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes of few rows, told for all rows
            metric = learn_metric(parts, quiet, train).metric
        X = cast(Floats, out.X)
        fitted = {part.name: part.fit(some, metric, settings.get(part.name)) for part in parts}
        for name, part in fitted.items():
            trials[name].append(part.trials(out.table if part.takes_tables else X))
        spreads.append(spread_of(fitted, X) if isinstance(answer, Numbers) else np.ones(len(X)))
        held.append(out)
    if not held:
        return None
    joined = {name: joined_trials(each) for name, each in trials.items()}
    weights = np.concatenate([each.weights for each in held])
    n_rows = weights.sum()
    if not rows.counted:
        n_rows = len(np.unique(np.concatenate([np.asarray(each.X) for each in held]), axis=0))
    target = np.concatenate([each.target for each in held])
    found = judged(answer, joined, target, weights, float(n_rows), np.concatenate(spreads))
    return replace(found, numbers=np.concatenate([cast(Ints, each.numbers) for each in held]))


def joined_trials(by_fold: list[dict[Any, Floats]]) -> dict[Any, Floats]:
    """Return the scores of the held-out rows of all folds, by setting that each fold has tried.

    A fold of fewer rows or classes may try fewer.
    """
    return {
        setting: np.concatenate([trials[setting] for trials in by_fold])
        for setting in by_fold[0]
        if all(setting in trials for trials in by_fold)
    }


def weighed(
    parts: Sequence[Part],
    fit_with: Callable[[Part, Any], FittedPart],
    obtained: Obtained,
    held_out: HeldOut,
    ranks: NormalScores | None,
    asking: Sequence[Part] | None = None,
) -> SumFit:
    """Weigh parts by how they did on held-out rows, and fit to all rows those that are kept.

    Only parts in `asking`, if given, may have a weight. Parts without weight are dropped unless
    they know something else: machines how sure numbers are, votes in the metric the neighbours of a
    row.
    """
    weights = weights_that_count(held_out, parts if asking is None else asking)
    kept = {}
    for part in parts:
        if part.name in weights or part.leads or part.needs_metric:
            kept[part.name] = fit_with(part, held_out.settings[part.name])
    selection = held_out.selection(parts)
    if ranks is not None:
        trials = tuple(replace(each, name=f"ranks: {each.name}") for each in selection.trials)
        selection = replace(selection, chosen=f"ranks: {selection.chosen}", trials=trials)
    return SumFit(Sum(held_out.answer, kept, weights, ranks), obtained, selection, held_out)


def fit_many(request: SumRequest, given: GivenRows) -> SumFit:
    """Fit the parts to many rows, in memory or on a cluster, and weigh them by held-out ones.

    A sample says whether all parts are fitted to ranks of columns. Rows in memory are drawn as
    places with their targets.
    """
    rng = np.random.default_rng(request.seed)
    given = replace(given, weights=given.weights / given.weights[given.weights > 0].mean())
    pairs, counted = replace(given, numbers=np.arange(len(given.target))), False
    if not isinstance(given.X, RowBlocks):
        pairs, first, counted = pool_pairs(given)
        pairs = replace(pairs, numbers=first)
    if request.rank_part is not None:
        ranked = ranks_win_on(request, pairs.draw(EXACT_PLACES, 1, rng))
        request = replace(request, rank_part=None, ranked=ranked)
    parts, answer = request.parts, request.answer
    ranks = None
    if request.ranked:
        some = pairs.draw(10_000, 1, rng)
        ranks = NormalScores.of(cast(Floats, some.X), some.weights)
        given, pairs = (mapped_rows(ranks.transform, each) for each in (given, pairs))
    rest, held_out = folds.hold_out_once(pairs, counted, rng)
    obtained = learn_metric(parts, request.metric, rest)
    pool = rest.draw(50_000, 1, rng)  # in which held-out rows have neighbours
    sample = pool.draw(sample_size(len(pairs.target)), 1, rng)
    places = pool_rows(sample, answer.targets(sample.target), False)
    rows = ManyRows.of(pairs, held_out, pool, places, answer.targets, counted)
    X = cast(Floats, held_out.X)
    said: dict[str, dict[Any, Floats]] = {}
    machines: dict[str, FittedPart] = {}
    variances: list[Floats] = []
    for part in parts:
        if isinstance(part, KernelPart):
            fitted, scores, unsure = fit_part(part, rows, obtained.metric, request.n_landmarks, rng)
            variances.append(unsure)
            machines[part.name] = fitted
            said[part.name] = {fitted.settings: scores}
        else:
            trial = part.fit(FitRows(pool, answer), obtained.metric)
            said[part.name] = trial.trials(held_out.table if trial.takes_tables else X)
    spreads = np.sqrt(np.mean(variances, axis=0)) if variances else np.ones(len(X))
    n_rows = held_out.weights.sum() if counted else len(distinct_rows(X)[0])
    judgement = judged(answer, said, held_out.target, held_out.weights, float(n_rows), spreads)
    whole = FitRows(given, answer)

    def fit_with(part: Part, chosen: Any) -> FittedPart:
        if part.name in machines:
            return machines[part.name].with_settings(chosen)
        if part.fits_last:
            on_cluster = isinstance(given.X, RowBlocks)
            return part.fit(FitRows(pool, answer) if on_cluster else whole, None, chosen)
        return part.fit(whole, obtained.metric).with_settings(chosen)

    asking = worth_asking(parts, judgement)
    return weighed(parts, fit_with, obtained, judgement, ranks, asking)


def ranks_win_on(request: SumRequest, sample: GivenRows) -> bool:
    """Say whether the kernel of ranks is clearly better than that of columns on a sample."""
    columns = [part for part in request.parts if part.name == "columns"]
    found = fit_by_folds(with_rank_part(replace(request, parts=columns)), sample)
    return ranks_win(found.held_out)
