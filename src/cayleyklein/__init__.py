"""Curved metric learning: elliptic, flat and hyperbolic Mahalanobis distances.

Names are loaded on first use, so that ``import cayleyklein`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cayleyklein._version import __version__

if TYPE_CHECKING:
    from cayleyklein import (
        clustering,
        curvature,
        datasets,
        diagrams,
        exceptions,
        experiments,
        geometry,
        learning,
        manifold,
        meshes,
        metrics,
        neighbors,
        plotting,
        prediction,
        svm,
        tables,
    )
    from cayleyklein.app import explore
    from cayleyklein.clustering import CurvedKMeans
    from cayleyklein.curvature import CurvatureEstimate, estimate_curvature, gromov_delta
    from cayleyklein.diagrams import CayleyKleinVoronoi, SphereVoronoi
    from cayleyklein.learning import (
        MMC,
        CayleyKleinLMNN,
        CurvedLMNN,
        CurvedMLKR,
        CurvedPairs,
        CurvedQuadruplets,
        CurvedTriplets,
    )
    from cayleyklein.manifold import CurvedMDS, FromChart, embed_tree, map_embedding
    from cayleyklein.meshes import lloyd, mesh_polygon
    from cayleyklein.metrics import (
        CurvedMetric,
        FormMetric,
        MixedMetric,
        ProductMetric,
        SphereMetric,
    )
    from cayleyklein.neighbors import CurvedNeighbors
    from cayleyklein.prediction import (
        CurvedKernelClassifier,
        CurvedKernelRegressor,
        CurvedKNeighborsClassifier,
        CurvedKNeighborsRegressor,
    )
    from cayleyklein.svm import CurvedLinearSVC

__all__ = [
    "MMC",
    "CayleyKleinLMNN",
    "CayleyKleinVoronoi",
    "CurvatureEstimate",
    "CurvedKMeans",
    "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor",
    "CurvedKernelClassifier",
    "CurvedKernelRegressor",
    "CurvedLMNN",
    "CurvedLinearSVC",
    "CurvedMDS",
    "CurvedMLKR",
    "CurvedMetric",
    "CurvedNeighbors",
    "CurvedPairs",
    "CurvedQuadruplets",
    "CurvedTriplets",
    "FormMetric",
    "FromChart",
    "MixedMetric",
    "ProductMetric",
    "SphereMetric",
    "SphereVoronoi",
    "__version__",
    "clustering",
    "curvature",
    "datasets",
    "diagrams",
    "embed_tree",
    "estimate_curvature",
    "exceptions",
    "experiments",
    "explore",
    "geometry",
    "gromov_delta",
    "learning",
    "lloyd",
    "manifold",
    "map_embedding",
    "mesh_polygon",
    "meshes",
    "metrics",
    "neighbors",
    "plotting",
    "prediction",
    "svm",
    "tables",
]

MODULE_OF = {
    "CayleyKleinLMNN": "learning",
    "CayleyKleinVoronoi": "diagrams",
    "CurvatureEstimate": "curvature",
    "CurvedKMeans": "clustering",
    "CurvedKNeighborsClassifier": "prediction",
    "CurvedKNeighborsRegressor": "prediction",
    "CurvedKernelClassifier": "prediction",
    "CurvedKernelRegressor": "prediction",
    "CurvedLMNN": "learning",
    "CurvedLinearSVC": "svm",
    "CurvedMDS": "manifold",
    "CurvedMLKR": "learning",
    "CurvedMetric": "metrics",
    "CurvedNeighbors": "neighbors",
    "CurvedPairs": "learning",
    "CurvedQuadruplets": "learning",
    "CurvedTriplets": "learning",
    "FormMetric": "metrics",
    "FromChart": "manifold",
    "MMC": "learning",
    "MixedMetric": "metrics",
    "ProductMetric": "metrics",
    "SphereMetric": "metrics",
    "SphereVoronoi": "diagrams",
    "embed_tree": "manifold",
    "estimate_curvature": "curvature",
    "explore": "app",
    "gromov_delta": "curvature",
    "lloyd": "meshes",
    "map_embedding": "manifold",
    "mesh_polygon": "meshes",
}

if not TYPE_CHECKING:  # type checkers read the imports above, and so find misspelt names

    def __getattr__(name: str):
        if name in MODULE_OF:
            found = getattr(import_module(f"cayleyklein.{MODULE_OF[name]}"), name)
            globals()[name] = found  # the next access does not come here
            return found
        if name in __all__:
            return import_module(f"cayleyklein.{name}")
        raise AttributeError(f"module 'cayleyklein' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
