"""Search for nearest neighbours by a metric."""

from cayleyklein.neighbors.estimator import CurvedNeighbors

__all__ = ["CurvedNeighbors"]
