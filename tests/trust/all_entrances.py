"""All entrances, by their paths."""

from tests.trust.estimator_entrances import METHODS, PARAMETERS
from tests.trust.geometry_entrances import DIAGRAMS, GEOMETRY, METRICS
from tests.trust.other_entrances import DATASETS, EXPERIMENTS, FILES, FRONT_DOORS
from tests.trust.picture_entrances import PICTURES

ALL = (
    *GEOMETRY, *METRICS, *DIAGRAMS, *PARAMETERS, *METHODS, *DATASETS, *FILES, *EXPERIMENTS,
    *PICTURES, *FRONT_DOORS,
)  # fmt: skip
ENTRANCES = {entrance.path: entrance for entrance in ALL}
