"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics.combined import Metric, MixedMetric, ProductMetric
from cayleyklein.metrics.curved import CurvedMetric
from cayleyklein.metrics.exchange import metric_from_json, metric_to_json
from cayleyklein.metrics.form import FormMetric
from cayleyklein.metrics.laplacian import laplacian_kernel
from cayleyklein.metrics.sphere import SphereMetric

__all__ = [
    "CurvedMetric",
    "FormMetric",
    "Metric",
    "MixedMetric",
    "ProductMetric",
    "SphereMetric",
    "laplacian_kernel",
    "metric_from_json",
    "metric_to_json",
]
