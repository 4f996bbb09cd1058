"""Metrics as JSON, which any language can read."""

import json
from typing import Any, cast

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics.combined import Metric, MixedMetric, ProductMetric
from cayleyklein.metrics.curved import CurvedMetric
from cayleyklein.metrics.form import FormMetric
from cayleyklein.metrics.sphere import SphereMetric

FORMAT = "cayleyklein metric"
JSON_VERSION = 1


def metric_to_json(metric: Metric) -> str:
    """Return a metric as JSON: its parts with their factor, centre and curvature K.

    Numbers have as many digits as they need to come back exactly. A reader in another language
    needs these formulas. With L the factor (r rows of d numbers) and c the centre of a part, and
    z = L (x - c) for a row x, the distance of rows x and y in a ``CurvedMetric`` is

        ‖z - w‖ (K = 0),  arccos(abs⟨z, w⟩)/√K (K > 0),  arcosh(⟨z, w⟩)/√-K (K < 0),
        ⟨z, w⟩ = (1 + K z·w) / √((1 + K z·z)(1 + K w·w)),

    with w = L (y - c). A ``ProductMetric`` is √Σ (sₚ/uₚ)² with its ``units`` u and the chords
    s = (2/√K) sin(√K d/2) of its parts, s = d for K = 0; a ``MixedMetric`` is Σ wₚ dₚ with its
    ``weights`` w. The factor of a ``FormMetric`` has one column
    more, for the constant 1. A ``SphereMetric`` has no factor: its rows are unit vectors, and its
    distance is their angle over √K.

    Parameters
    ----------
    metric : CurvedMetric, FormMetric, MixedMetric, ProductMetric or SphereMetric
        Metric to write.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.metrics import metric_from_json, metric_to_json
    >>> print(metric_to_json(CurvedMetric.euclidean(2, curvature=-1.0)))
    {"format": "cayleyklein metric", "version": 1, "kind": "CurvedMetric", "parts": \
[{"kind": "CurvedMetric", "factor": [[1.0, 0.0], [0.0, 1.0]], "centre": [0.0, 0.0], "K": -1.0}]}
    """
    if not isinstance(metric, Metric):
        raise InvalidInputError(f"Expected a metric; got a {type(metric).__name__}.")
    several = metric.metrics if isinstance(metric, MixedMetric | ProductMetric) else [metric]
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": JSON_VERSION,
        "kind": type(metric).__name__,
        "parts": [part_to_text(part) for part in several],
    }
    if isinstance(metric, ProductMetric):
        found["units"] = np.asarray(metric.units).tolist()
    if isinstance(metric, MixedMetric):
        found["weights"] = np.asarray(metric.weights).tolist()
    return json.dumps(found)


def part_to_text(part: CurvedMetric | FormMetric | SphereMetric) -> dict[str, Any]:
    """Return a single metric as texts and numbers."""
    found: dict[str, Any] = {"kind": type(part).__name__}
    if isinstance(part, SphereMetric):
        found["width"] = part.width
    else:
        found["factor"] = np.asarray(part.factor).tolist()
        found["centre"] = np.asarray(part.center).tolist()
    return found | {"K": float(part.curvature)}


def part_from_text(part: dict[str, Any]) -> Any:
    """Return the metric that `part_to_text` told."""
    if part["kind"] == "SphereMetric":
        return SphereMetric(part["width"], curvature=part["K"])
    kind = {"CurvedMetric": CurvedMetric, "FormMetric": FormMetric}[part["kind"]]
    return kind(factor=part["factor"], center=part["centre"], curvature=part["K"])


def metric_from_json(text: str) -> Metric:
    """Return the metric that :func:`metric_to_json` wrote.

    Parameters
    ----------
    text : str
        JSON of a metric.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.metrics import metric_from_json, metric_to_json
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> metric_from_json(metric_to_json(disc))([0.0, 0.0], [0.5, 0.0]) == disc([0, 0], [0.5, 0])
    True
    """
    try:
        found = json.loads(text)
        if found["format"] != FORMAT or found["version"] != JSON_VERSION:
            raise ValueError(f"its format is {found['format']!r}, version {found['version']!r}")
        parts = [part_from_text(part) for part in found["parts"]]
        if found["kind"] == "ProductMetric":
            return ProductMetric(parts, found["units"])
        if found["kind"] == "MixedMetric":
            return MixedMetric(parts, found["weights"])
        (single,) = parts
        if found["kind"] != type(single).__name__:
            raise ValueError(f"its kind is {found['kind']!r}")
        return cast(Metric, single)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"The text is no metric as JSON ({error}).") from error
