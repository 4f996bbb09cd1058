"""The hook by which notebooks find the cards of objects: pictures live in ``plotting``."""

import importlib
from contextvars import ContextVar
from typing import Any


def card_of(thing: Any) -> str:
    """Return the HTML card of a metric, a diagram or an estimator; empty before it is fitted."""
    # plotting is above all other folders: imported by name, and only when a notebook asks
    card: str = importlib.import_module("cayleyklein.plotting.cards").notebook_card(thing)
    return card


IN_DIAGRAM = ContextVar("IN_DIAGRAM", default=False)  # whether a diagram is drawn around it


class NotebookCard:
    """Mixin that shows an object in a notebook by its card."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return card_of(self)


class EstimatorCard:
    """Mixin, before BaseEstimator, that adds a fitted estimator's card to its diagram."""

    def _html_repr(self) -> str:
        # the table of parameters in the diagram would draw the card too
        inside = IN_DIAGRAM.set(True)
        try:
            diagram: str = super()._html_repr()  # type: ignore[misc]
        finally:
            IN_DIAGRAM.reset(inside)
        return diagram + card_of(self)

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        parameters = super()._get_params_html(*args, **kwargs)  # type: ignore[misc]
        table = parameters._repr_html_inner
        parameters._repr_html_inner = lambda: table() + ("" if IN_DIAGRAM.get() else card_of(self))
        return parameters
