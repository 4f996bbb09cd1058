"""The choice between candidates: the least loss on held-out rows, and the simpler on a tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.descent import Fit
from cayleyklein.selection.n_neighbors import NEIGHBORS, best_losses
from cayleyklein.selection.scorer import TIE, Scorer, gain_of
from cayleyklein.selection.trials import Selection, Trial


@dataclass(frozen=True)
class Chosen:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Any
    fits: tuple[Fit, ...]
    selection: Selection
    n_learned: int


def choose_candidate(
    scores: dict[str, list[Floats]], weights: list[Floats], scorer: Scorer, *,
    tie_to_first: bool = False,
) -> Selection:  # fmt: skip
    """Choose between the first candidate and the best of the others, by their loss.

    `scores` and `weights` of held-out rows come fold by fold. Where the difference is less than
    `TIE` standard errors, the other wins, or the first with `tie_to_first`.
    """
    share = np.concatenate(weights)
    share = share / share.sum()
    trials, losses = {}, {}
    for name, parts in scores.items():
        joined = np.concatenate(parts, axis=2)
        best, losses[name] = best_losses(joined, share)
        means = np.array([values @ share for values in joined[:, best]])
        trials[name] = Trial(name, NEIGHBORS[best], scorer.named(means))
    first, *others = losses
    chosen, against = trials[first], ""
    if others:
        rival = min(others, key=lambda name: float(losses[name] @ share))
        gain, error = gain_of(losses[rival], losses[first], share)
        enough = gain > (-TIE if tie_to_first else TIE) * error
        chosen, other = (trials[name] for name in ((first, rival) if enough else (rival, first)))
        score = next(iter(chosen.scores))
        against = f", {other.name} {other.scores[score]:.3f}"
    score = next(iter(chosen.scores))
    reason = f"{score} {chosen.scores[score]:.3f} on {len(share)} held-out rows{against}"
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(trials.values()))
