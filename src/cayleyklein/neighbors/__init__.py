"""Neighbours: k-NN search on a metric, by a lift to Euclidean space, by trees, by faiss."""

from cayleyklein.neighbors._nearest import CurvedNeighbors
from cayleyklein.neighbors._regression import CurvedKNeighborsRegressor

__all__ = ["CurvedKNeighborsRegressor", "CurvedNeighbors"]
