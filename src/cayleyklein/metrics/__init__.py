"""Metrics: small frozen objects on top of the geometry, the noun that everything else consumes."""

from cayleyklein.metrics._covariance import standard_factor as standard_factor
from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._mixed import Metric as Metric
from cayleyklein.metrics._mixed import MixedMetric
from cayleyklein.metrics._mixed import first_term as first_term
from cayleyklein.metrics._mixed import terms_of as terms_of
from cayleyklein.metrics._product import ProductMetric

# Names imported "as" themselves are for the other folders of this package, not for users.

__all__ = ["CurvedMetric", "MixedMetric", "ProductMetric"]
