"""The state of the plane and its address."""

import math
import urllib.parse
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._learn import LearnState
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import (
    CHART_NAMES,
    LAYERS,
    RANGES,
    Generator,
    PlaneState,
    rounded_point,
    scatter,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric

REAL = st.floats(-20, 20)
POINTS = st.lists(st.builds(rounded_point, REAL, REAL, st.integers(0, 3)), max_size=6)


@st.composite
def states(draw):
    parts = {
        "chart": draw(st.sampled_from(list(CHART_NAMES))),
        "shown": ",".join(draw(st.sets(st.sampled_from(list(LAYERS))))),
    }
    for name, (low, high) in RANGES.items():
        kind = st.integers if isinstance(low, int) else st.floats
        parts[name] = draw(kind(low, high))
    return PlaneState(points=tuple(draw(POINTS))).with_parts(parts)


@given(states())
def test_a_state_survives_its_address(state):
    assert PlaneState.from_query(state.query) == state


@given(st.dictionaries(st.sampled_from([*RANGES, "chart", "shown", "chosen", "points"]), st.text()))
def test_any_address_is_a_state_or_an_error_that_says_so(parts):
    try:
        state = PlaneState().with_parts(parts)
    except InvalidInputError:
        return
    assert PlaneState.from_query(state.query) == state


def test_an_error_quotes_what_was_sent_in_part_only():
    with pytest.raises(InvalidInputError) as caught:
        PlaneState.from_query("curvature=" + "x" * 10_000)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ("curvature=2", "curvature must be between -1 and 1"),
        ("curvature=nan", "curvature"),
        ("order=1.5", "whole number"),
        ("chart=mercator", "chart"),
        ("shown=cells,moon", "shown"),
        ("points=0,0", "points must be 3 numbers"),
        ("points=0,0,20", "class"),
        ("points=1e9,0,0", "within"),
        ("chosen=0,x", "chosen"),
        ("points=" + "0,0,0;" * (LIMITS.most_points + 1), "the most"),
    ],
)
def test_an_error_names_what_is_wrong(parts, said):
    with pytest.raises(InvalidInputError, match=said):
        PlaneState.from_query(parts)


@given(st.floats(0.2, 4), st.floats(0.2, 4), st.floats(-90, 90), st.floats(-1, -0.05))
def test_the_conic_has_the_axes_that_are_asked_for(major, minor, angle, K):
    state = PlaneState(major=major, minor=minor, angle=angle, curvature=K)
    turn = math.radians(angle)
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    ends = axes * np.array([[major], [minor]]) / math.sqrt(-K)
    assert state.metric.domain.to_euclidean(ends) ** 2 @ [1, 1] == pytest.approx([1, 1])


@pytest.mark.parametrize("K", [-0.5, 0.0, 2e-2, 40.0])
def test_rows_in_the_plane_have_their_distances_in_another_unit(K):
    metric = CurvedMetric(factor=[[0.4, 0.1], [0.0, 0.2]], center=[5.0, 1.0], curvature=K)
    rows = metric.points(np.random.default_rng(0).uniform(-1, 1, size=(9, 2)))
    state, exact = PlaneState.of_rows(metric, rows, np.zeros(9, dtype=int))
    assert exact
    shown, given = state.metric.pairwise(state.coordinates), metric.pairwise(rows)
    off = ~np.eye(9, dtype=bool)
    assert shown[off] / given[off] == pytest.approx(shown[0, 1] / given[0, 1], rel=0.01)


def test_the_chosen_points_exist():
    state = PlaneState(points=scatter(5, seed=0), chosen=(4, 2))
    assert replace(state, points=state.points[:4]).chosen == (3, 2)
    assert replace(state, points=state.points[:1]).chosen == (0, 0)
    assert replace(state, points=()).chosen == (0, 0)
    assert state.with_parts({"chosen": "-1,99"}).chosen == (0, 4)


def test_points_are_rounded_to_what_the_address_keeps():
    assert rounded_point(0.1234567, -1e-9, 2) == Generator(0.123457, 0.0, 2)


@given(st.dictionaries(st.sampled_from([*LearnState.__dataclass_fields__]), st.text(max_size=5)))
def test_any_address_of_learning_is_a_state_or_an_error(parts):
    try:
        state = LearnState.from_query(urllib.parse.urlencode(parts))
    except InvalidInputError:
        return
    again = LearnState.from_query(state.query)
    assert again == (state if state.data == "points" else replace(state, points=""))
