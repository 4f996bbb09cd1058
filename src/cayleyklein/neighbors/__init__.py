"""Nearest neighbours by a metric: search, votes, and regression."""

from cayleyklein.neighbors._nearest import CurvedNeighbors
from cayleyklein.neighbors._regression import CurvedKNeighborsRegressor
from cayleyklein.neighbors._votes import class_shares, neighbor_weights

__all__ = ["CurvedKNeighborsRegressor", "CurvedNeighbors", "class_shares", "neighbor_weights"]
