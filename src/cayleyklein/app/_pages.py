"""What both pages share: the template, and the two sources that carry messages."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from bokeh.document import Document
from bokeh.events import ConnectionLost, DocumentReady
from bokeh.models import ColumnDataSource, CustomJS, Model
from jinja2 import Environment, FileSystemLoader, select_autoescape

from cayleyklein import __version__
from cayleyklein.exceptions import InvalidInputError

__all__ = ["STATIC", "connect", "read_commands", "render", "said_source", "wire_source"]

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def templates() -> Environment:
    """Return the environment of the page's templates."""
    return Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=select_autoescape(default=True)
    )


def render(document: Document, template: str, title: str, **variables: Any) -> None:
    """Give a document its page."""
    document.title = f"{title} · cayleyklein"
    document.template = templates().get_template(template)
    document.template_variables.update(variables, version=__version__)


def wire_source() -> ColumnDataSource:
    """Return the source in which a page sends its commands, a batch at a time."""
    return ColumnDataSource({"number": [0], "commands": ["[]"]}, name="wire")


def said_source() -> ColumnDataSource:
    """Return the source in which the server answers."""
    return ColumnDataSource({"answer": ["{}"]}, name="said")


def read_commands(text: str) -> list[dict[str, Any]]:
    """Return the commands of a batch, checked for their form only.

    >>> read_commands('[{"do": "add"}]')
    [{'do': 'add'}]

    Raises
    ------
    InvalidInputError
        When the text is no list of objects: a page's own script sends no such thing.
    """
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidInputError("A message to the server was not understood.")
    return found


def connect(
    document: Document, root: Model, wire: ColumnDataSource, said: ColumnDataSource
) -> None:
    """Have the page's script send by the one source and hear by the other."""
    # Bokeh's own way back loses what was on its way; the page's script has a better one
    document.config.update(reconnect_session=False, notify_connection_status=False)
    ready = CustomJS(args={"wire": wire, "said": said}, code="explorer.connect(wire, said)")
    # what a root refers to belongs to the document, which the sources must
    root.tags = [wire, said]
    document.js_on_event(DocumentReady, ready)
    document.js_on_event(ConnectionLost, CustomJS(code="explorer.lost()"))
