"""Metrics as JSON, which any language can read."""

import json
from typing import Any

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics.combined import Metric, MixedMetric, ProductMetric
from cayleyklein.metrics.curved import CurvedMetric
from cayleyklein.metrics.form import FormMetric

FORMAT = "cayleyklein metric"
JSON_VERSION = 1
SINGLE = {"CurvedMetric": CurvedMetric, "FormMetric": FormMetric}


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
    more, for the constant 1.

    Parameters
    ----------
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric

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
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": JSON_VERSION,
        "kind": type(metric).__name__,
        "parts": [],
    }
    several = isinstance(metric, MixedMetric | ProductMetric)
    for part in metric.metrics if several else [metric]:
        found["parts"].append(
            {
                "kind": type(part).__name__,
                "factor": np.asarray(part.factor).tolist(),
                "centre": np.asarray(part.center).tolist(),
                "K": float(part.curvature),
            }
        )
    if isinstance(metric, ProductMetric):
        found["units"] = np.asarray(metric.units).tolist()
    if isinstance(metric, MixedMetric):
        found["weights"] = np.asarray(metric.weights).tolist()
    return json.dumps(found)


def metric_from_json(text: str) -> Metric:
    """Return the metric that :func:`metric_to_json` wrote.

    Parameters
    ----------
    text : str

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
        parts = [
            SINGLE[part["kind"]](factor=part["factor"], center=part["centre"], curvature=part["K"])
            for part in found["parts"]
        ]
        if found["kind"] == "ProductMetric":
            return ProductMetric(parts, found["units"])
        if found["kind"] == "MixedMetric":
            return MixedMetric(parts, found["weights"])
        (part,) = parts
        if found["kind"] != type(part).__name__:
            raise ValueError(f"its kind is {found['kind']!r}")
        return part
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"The text is no metric as JSON ({error}).") from error
