"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics._combined import Metric as Metric
from cayleyklein.metrics._combined import MixedMetric, ProductMetric
from cayleyklein.metrics._combined import first_term as first_term
from cayleyklein.metrics._combined import terms_of as terms_of
from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._curved import standard_factor as standard_factor
from cayleyklein.metrics._kernels import LaplacianKernel as LaplacianKernel
from cayleyklein.metrics._kernels import laplacian_kernel

# Names imported "as" themselves are for the other folders of this package, not for users.

__all__ = ["CurvedMetric", "MixedMetric", "ProductMetric", "laplacian_kernel"]
