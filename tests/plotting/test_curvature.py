"""The profile of the likelihood over the curvature, and the card of an estimate."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.curvature import draws

from cayleyklein import estimate_curvature
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.plotting import CurvatureDisplay

X = draws.rows(60, 2, 0)
FOUND = estimate_curvature(X, draws.numbers(X, 0.0, 0))


def test_profile_and_score_are_drawn():
    display = CurvatureDisplay.from_estimate(FOUND).plot()
    K, value = display.line_.get_data()
    np.testing.assert_array_equal(K, FOUND.profile.curvature)
    assert value.max() == 0
    assert display.ax_.get_title() == FOUND.verdict
    score = display.score_ax_.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(score, FOUND.profile.score)
    bottom, top = display.ax_.get_ylim()
    assert bottom < -stats_limit() < 0 < top


def stats_limit():
    return 3.84 / 2


def test_dissimilarities_have_no_score():
    D = draws.dissimilarities(X[:20], 0.0, 0)
    found = estimate_curvature(D, dissimilarity="precomputed", random_state=0)
    display = CurvatureDisplay.from_estimate(found)
    _, ax = plt.subplots()
    ax.set_title("mine")
    assert display.plot(ax).score_ax_ is None
    assert ax.get_title() == "mine"


def test_an_estimate_is_needed():
    with pytest.raises(InvalidInputError, match="expected a CurvatureEstimate"):
        CurvatureDisplay.from_estimate(X)


def test_card_says_what_was_found():
    card = FOUND._repr_html_()
    assert FOUND.verdict in card
    assert "<svg" in card
    assert f"{FOUND.curvature:.3g}" in card
