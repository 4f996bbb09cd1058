"""Clusters by a curved metric."""

from cayleyklein.clustering.kmeans import CurvedKMeans

__all__ = ["CurvedKMeans"]
