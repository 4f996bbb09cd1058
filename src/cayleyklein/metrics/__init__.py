"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._mixed import MixedMetric
from cayleyklein.metrics._product import ProductMetric

__all__ = ["CurvedMetric", "MixedMetric", "ProductMetric"]
