"""Curved metric learning: elliptic, flat and hyperbolic Mahalanobis distances.

Names are loaded on first use, so that ``import cayleyklein`` costs next to nothing.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from cayleyklein._version import __version__

if TYPE_CHECKING:
    from cayleyklein.curvature import CurvatureEstimate, estimate_curvature
    from cayleyklein.diagrams import CayleyKleinVoronoi
    from cayleyklein.learning import MMC, CayleyKleinLMNN, CurvedLMNN, CurvedMLKR, CurvedPairs
    from cayleyklein.learning.comparisons import CurvedQuadruplets, CurvedTriplets
    from cayleyklein.manifold import CurvedMDS, FromChart
    from cayleyklein.meshes import lloyd, mesh_polygon
    from cayleyklein.metrics import CurvedMetric, FormMetric, MixedMetric, ProductMetric
    from cayleyklein.neighbors import CurvedNeighbors
    from cayleyklein.prediction import (
        CurvedKernelClassifier,
        CurvedKernelRegressor,
        CurvedKNeighborsClassifier,
        CurvedKNeighborsRegressor,
    )
    from cayleyklein.svm import CurvedLinearSVC

# After each folder come the names that are loaded from it.
__all__ = [  # noqa: RUF022
    "__version__",
    "curvature",
    "CurvatureEstimate",
    "estimate_curvature",
    "datasets",
    "diagrams",
    "CayleyKleinVoronoi",
    "exceptions",
    "experiments",
    "geometry",
    "learning",
    "CayleyKleinLMNN",
    "CurvedLMNN",
    "CurvedMLKR",
    "CurvedPairs",
    "CurvedQuadruplets",
    "CurvedTriplets",
    "MMC",
    "manifold",
    "CurvedMDS",
    "FromChart",
    "meshes",
    "lloyd",
    "mesh_polygon",
    "metrics",
    "CurvedMetric",
    "FormMetric",
    "MixedMetric",
    "ProductMetric",
    "neighbors",
    "CurvedNeighbors",
    "plotting",
    "prediction",
    "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor",
    "CurvedKernelClassifier",
    "CurvedKernelRegressor",
    "svm",
    "CurvedLinearSVC",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'cayleyklein' has no attribute {name!r}")
    modules = {module.name for module in iter_modules(__path__)}
    home = [known for known in __all__[: __all__.index(name) + 1] if known in modules][-1]
    module = import_module(f"cayleyklein.{home}")
    found = globals()[name] = module if name == home else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return __all__
