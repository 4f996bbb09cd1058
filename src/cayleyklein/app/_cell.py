"""The plane in a notebook's cell: the page of the explorer, without its server."""

import json
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.app import _maps, _pages, _state
from cayleyklein.app._messages import pack_message
from cayleyklein.app._session import PlaneSession
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import sections

# the page is in a frame of its own, so that its styles and those of the notebook keep apart
SCRIPT = """
function render({model, el}) {
  const frame = document.createElement("iframe");
  frame.title = "The plane";
  Object.assign(frame.style, {width: "100%", height: `${model.get("height")}px`, border: "0"});
  frame.srcdoc = model.get("page");
  const up = (event) => { if (event.source === frame.contentWindow) model.send(event.data); };
  const down = (content, buffers) => {
    const view = buffers[0];
    const copy = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
    frame.contentWindow?.postMessage(copy, "*");
  };
  addEventListener("message", up);
  model.on("msg:custom", down);
  el.append(frame);
  return () => { removeEventListener("message", up); model.off("msg:custom", down); };
}
export default {render};
"""


class PlaneCell:
    """A plane with a visitor's points: what is dragged on the page is read from it.

    Rows of more than two columns are shown on a plane of the metric through them.
    """

    def __init__(self, X: Any = None, metric: Any = None, labels: ArrayLike | None = None) -> None:
        self.session = PlaneSession("")
        self.classes: AnyArray = np.array([])
        self._section: Any = None
        self._scale: _state.RowScale | None = None
        if isinstance(X, _maps.MAPS):
            self.session.state = _maps.map_state(X, labels)
        elif X is not None:
            self._take(checks.as_finite_array(X, "X"), metric, labels)
        elif metric is not None or labels is not None:
            raise InvalidInputError("metric and labels need rows X; X is None.")

    def _take(self, X: Floats, metric: Any, labels: ArrayLike | None) -> None:
        X = checks.as_points(X, "X", None, ndim=2)
        metric = CurvedMetric.euclidean(X.shape[1]) if metric is None else metric
        codes = np.zeros(len(X), dtype=np.intp)
        if labels is not None:
            self.classes, codes = np.unique(np.asarray(labels), return_inverse=True)
            most = len(_state.LETTERS)
            if len(codes) != len(X) or len(self.classes) > most:
                said = f"labels must be one for each of the {len(X)} rows, of up to {most} classes"
                raise InvalidInputError(f"{said}; got {len(codes)} of {len(self.classes)}.")
        rows = X
        if X.shape[1] > 2:
            names = tuple(f"x{i + 1}" for i in range(X.shape[1]))
            self._section = sections.choose_section(metric, X, "pca", names)
            rows, metric = self._section.project(X), self._section.restrict(metric)
        self._scale = _state.RowScale.of(metric, rows)
        self.session.state, _ = _state.PlaneState.of_rows(metric, rows, codes)

    @property
    def points(self) -> Floats:
        """The points as they are now, in the coordinates of X."""
        x = self.session.state.coordinates
        if self._scale is not None:
            x = self._scale.to_rows(x)
        return x if self._section is None else np.asarray(self._section.embed(x))

    @property
    def labels(self) -> AnyArray:
        """The classes of the points: those of `labels`, or numbers."""
        codes = self.session.state.labels
        known = len(self.classes) and (codes < len(self.classes)).all()
        return self.classes[codes] if known else codes

    @property
    def metric(self) -> CurvedMetric:
        """The metric as it is now, in the coordinates of X or of the plane shown."""
        metric = self.session.state.metric
        return metric if self._scale is None else self._scale.metric_of_rows(metric)

    def hear(self, message: Any) -> bytes:
        """Answer a message of the page, as the server does."""
        number = None
        try:
            found = json.loads(message) if isinstance(message, str) else message
            number, given = int(found["number"]), found["commands"]
        except (TypeError, ValueError, KeyError) as error:
            raise InvalidInputError("A message of the page was not understood.") from error
        answer = self.session.hear(given if isinstance(given, list) else [])
        return pack_message(answer | {"number": number})


@cache
def _widget_class() -> Any:
    anywidget = checks.require("anywidget", "notebook")
    traitlets = checks.require("traitlets", "notebook")

    base: Any = anywidget.AnyWidget

    class PlaneWidget(base):
        """The plane in a cell; `points`, `labels` and `metric` are as they are now."""

        _esm = SCRIPT
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(760).tag(sync=True)

        def __init__(self, cell: PlaneCell, height: int) -> None:
            super().__init__(page=_pages.embedded_page(), height=height)
            self.cell = cell
            self.on_msg(lambda _, message, buffers: self._answer(message))

        def _answer(self, message: Any) -> None:
            self.send({}, buffers=[self.cell.hear(message)])

        @property
        def points(self) -> Floats:
            return self.cell.points

        @property
        def labels(self) -> AnyArray:
            return self.cell.labels

        @property
        def metric(self) -> CurvedMetric:
            return self.cell.metric

    return PlaneWidget


def make_widget(X: Any, metric: Any, labels: Any, height: int) -> Any:
    """Return the plane as a widget, with points of one's own or the first picture."""
    kind = _widget_class()
    return kind(PlaneCell(X, metric, labels), checks.as_count(height, "height"))
