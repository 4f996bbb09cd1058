"""Voronoi diagrams of curved metrics: power diagrams within the domain (paper §3.1)."""

from cayleyklein.diagrams._voronoi import CayleyKleinVoronoi
from cayleyklein.diagrams.domains import Boundary, Mesh, Triangulation, equivalent_balls
from cayleyklein.diagrams.sphere import SphereVoronoi

__all__ = [
    "Boundary",
    "CayleyKleinVoronoi",
    "Mesh",
    "SphereVoronoi",
    "Triangulation",
    "equivalent_balls",
]
