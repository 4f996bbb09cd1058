"""Voronoi diagrams of curved metrics: power diagrams within the domain (paper §3.1)."""

from cayleyklein.diagrams._plane_cells import Boundary
from cayleyklein.diagrams._voronoi import CayleyKleinVoronoi, Triangulation
from cayleyklein.diagrams.domains import Mesh, equivalent_balls

__all__ = ["Boundary", "CayleyKleinVoronoi", "Mesh", "Triangulation", "equivalent_balls"]
