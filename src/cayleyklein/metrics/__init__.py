"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics.combined import Metric as Metric
from cayleyklein.metrics.combined import MixedMetric, ProductMetric
from cayleyklein.metrics.combined import first_term as first_term
from cayleyklein.metrics.combined import terms_of as terms_of
from cayleyklein.metrics.curved import CurvedMetric
from cayleyklein.metrics.curved import standard_factor as standard_factor
from cayleyklein.metrics.laplacian import LaplacianKernel as LaplacianKernel
from cayleyklein.metrics.laplacian import laplacian_kernel

__all__ = ["CurvedMetric", "MixedMetric", "ProductMetric", "laplacian_kernel"]
