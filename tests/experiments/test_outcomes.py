"""What is shown to be better, and what is only higher."""

import numpy as np
import pytest

from cayleyklein.experiments import Outcome
from cayleyklein.experiments._outcomes import Scores, gains_over


def outcomes(scores):
    return tuple(Outcome(float(a), 80, 20, 0.1, 0.1) for a in scores)


def test_holm_counts_the_methods_but_not_the_baseline():
    """A p-value of 0.03 stands alone, and not beside another test."""
    rng = np.random.default_rng(0)
    base = rng.normal(0.8, 0.02, 10)
    noise = rng.normal(size=10)
    slight = base + 0.01 + 0.0073 * (noise - noise.mean()) / noise.std(ddof=1)
    alone = gains_over("base", {"base": outcomes(base), "slight": outcomes(slight)})
    assert 0.025 < alone["slight"].difference.p_value < 0.05
    assert alone["slight"].is_shown
    assert not alone["base"].is_shown
    both = {"base": outcomes(base), "slight": outcomes(slight), "same": outcomes(base)}
    assert not gains_over("base", both)["slight"].is_shown


def test_a_loss_is_no_gain():
    base = np.linspace(0.7, 0.9, 10)
    worse = base - 0.1 + 0.001 * np.sin(np.arange(10))
    found = gains_over("base", {"base": outcomes(base), "worse": outcomes(worse)})["worse"]
    assert found.difference.p_value < 0.001
    assert not found.is_shown


def test_scores_of_one_split_have_no_error():
    scores = Scores(outcomes([0.75]))
    assert scores.accuracy == 0.75
    assert scores.to_dict()["standard_error"] is None
    assert Scores(outcomes([0.7, 0.8])).to_dict()["standard_error"] == pytest.approx(0.05)
