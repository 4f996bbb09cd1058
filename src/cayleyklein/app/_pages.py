"""What both pages share: the template, and the two sources that carry messages."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from bokeh.document import Document
from bokeh.events import ConnectionLost, DocumentReady
from bokeh.models import ColumnDataSource, CustomJS, Model
from jinja2 import Environment, FileSystemLoader, select_autoescape

from cayleyklein import __version__

__all__ = ["STATIC", "connect", "render", "said_source", "wire_source"]

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


def connect(
    document: Document, root: Model, wire: ColumnDataSource, said: ColumnDataSource
) -> None:
    """Have the page's script send by the one source and hear by the other."""
    ready = CustomJS(args={"wire": wire, "said": said}, code="explorer.connect(wire, said)")
    # what a root refers to belongs to the document, which the sources must
    root.tags = [wire, said]
    document.js_on_event(DocumentReady, ready)
    document.js_on_event(ConnectionLost, CustomJS(code="explorer.lost()"))
