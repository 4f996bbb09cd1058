"""The pages without a browser: messages that no page sends, and what is left behind."""

import json

import pytest

pytest.importorskip("bokeh")

from bokeh.document import Document

from cayleyklein.app._learn import LearnPage
from cayleyklein.app._plane import PlanePage
from cayleyklein.app._worker import FitSlots

MESSAGES = [
    "nonsense",
    "5",
    "null",
    "[null]",
    "[" * 100_000,
    '[{"do": "theme", "value": []}]',
    '[{"do": "choose", "name": [], "value": {}}]',
    f'[{{"do": "label", "value": {10**400}}}]',
    f'[{{"do": "hover", "x": {10**400}, "y": null}}]',
    '[{"do": "hover", "x": NaN, "y": Infinity}]',
]


@pytest.fixture
def plane():
    return PlanePage(Document(), {})


@pytest.fixture
def learn():
    return LearnPage(Document(), {}, FitSlots(most=1))


def send(page, number, text):
    page.wire.data = {"number": [number], "commands": [text]}
    return json.loads(page.said.data["answer"][0])


@pytest.mark.parametrize("kind", ["plane", "learn"])
def test_whatever_is_sent_is_answered(kind, request):
    page = request.getfixturevalue(kind)
    for number, text in enumerate(MESSAGES, start=1):
        assert send(page, number, text)["number"] == number
    assert "not understood" in str(send(page, 99, "5"))


def test_keys_read_the_distances_from_the_chosen_point(plane):
    assert send(plane, 1, '[{"do": "hover"}]')["readout"].startswith("point 1 = ")
    everything = json.dumps([{"do": "delete"}] * 28 + [{"do": "hover"}])
    assert send(plane, 2, everything)["readout"] == "There are no points yet."


def test_a_fit_ends_with_its_page(learn):
    send(learn, 1, '[{"do": "choose", "name": "data", "value": "vowel"}, {"do": "fit"}]')
    fit = learn.fit
    assert fit.process.is_alive()
    callbacks = list(learn.document.session_destroyed_callbacks)
    learn.document.callbacks.destroy()  # a server does so first
    for callback in callbacks:
        callback(None)
    assert not fit.process.is_alive()


@pytest.mark.parametrize("query", [{"data": "upload", "x": "90"}, {"x": "90", "plane": "columns"}])
def test_an_address_of_columns_that_are_not_there(query):
    page = LearnPage(Document(), query, FitSlots())
    answer = json.loads(page.said.data["answer"][0])
    assert answer["choices"]["x"] == "0"
    assert ("choose it again" in str(answer["notes"])) == ("data" in query)
