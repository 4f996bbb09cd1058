"""Meshes of polygons and centroidal Voronoi diagrams, under curved metrics."""

from cayleyklein.meshes._lloyd import CentroidalVoronoi, lloyd
from cayleyklein.meshes._mesh import PlaneMesh, mesh_polygon

__all__ = ["CentroidalVoronoi", "PlaneMesh", "lloyd", "mesh_polygon"]
