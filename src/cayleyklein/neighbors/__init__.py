"""Search for nearest neighbours by a metric."""

from cayleyklein.neighbors.curved_neighbors import CurvedNeighbors

__all__ = ["CurvedNeighbors"]
