"""Curved metric learning: elliptic, flat and hyperbolic Mahalanobis distances.

Names are loaded on first use, so that ``import cayleyklein`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cayleyklein._version import __version__

if TYPE_CHECKING:
    from cayleyklein.curvature import CurvatureEstimate, estimate_curvature
    from cayleyklein.diagrams import CayleyKleinVoronoi
    from cayleyklein.kernels import CurvedKernelClassifier, CurvedKernelRegressor
    from cayleyklein.learning import (
        MMC,
        CurvedLMNN,
        CurvedMLKR,
        CurvedPairs,
        CurvedQuadruplets,
        CurvedTriplets,
    )  # fmt: skip
    from cayleyklein.manifold import CurvedMDS, FromChart
    from cayleyklein.meshes import lloyd, mesh_polygon
    from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
    from cayleyklein.neighbors import CurvedNeighbors
    from cayleyklein.prediction import CurvedKNeighborsClassifier, CurvedKNeighborsRegressor
    from cayleyklein.svm import CurvedLinearSVC

__all__ = [
    "MMC", "CayleyKleinVoronoi", "CurvatureEstimate", "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor", "CurvedKernelClassifier", "CurvedKernelRegressor",
    "CurvedLMNN", "CurvedLinearSVC", "CurvedMDS", "CurvedMLKR", "CurvedMetric",
    "CurvedNeighbors", "CurvedPairs", "CurvedQuadruplets", "CurvedTriplets", "FromChart",
    "MixedMetric", "ProductMetric", "__version__", "curvature", "datasets", "diagrams",
    "estimate_curvature", "exceptions", "experiments", "geometry", "kernels", "learning",
    "lloyd", "manifold", "mesh_polygon", "meshes", "metrics", "neighbors", "plotting",
    "prediction", "selection", "svm", "tables",
]  # fmt: skip

_NAMES = {
    "curvature": ("CurvatureEstimate", "estimate_curvature"),
    "diagrams": ("CayleyKleinVoronoi",),
    "kernels": ("CurvedKernelClassifier", "CurvedKernelRegressor"),
    "learning": (
        "CurvedLMNN", "CurvedMLKR", "CurvedPairs", "CurvedQuadruplets", "CurvedTriplets", "MMC",
    ),
    "manifold": ("CurvedMDS", "FromChart"),
    "meshes": ("lloyd", "mesh_polygon"),
    "metrics": ("CurvedMetric", "MixedMetric", "ProductMetric"),
    "neighbors": ("CurvedNeighbors",),
    "prediction": ("CurvedKNeighborsClassifier", "CurvedKNeighborsRegressor"),
    "svm": ("CurvedLinearSVC",),
}  # fmt: skip
_HOME = {name: folder for folder, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"cayleyklein.{_HOME[name]}"), name)
    if name in __all__:
        return import_module(f"cayleyklein.{name}")
    raise AttributeError(f"module 'cayleyklein' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
