"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._mixed import MixedMetric

__all__ = ["CurvedMetric", "MixedMetric"]
