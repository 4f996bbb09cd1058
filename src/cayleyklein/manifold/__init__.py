"""Maps of dissimilarities in spaces of constant curvature."""

from cayleyklein.manifold._mds import CurvedMDS

__all__ = ["CurvedMDS"]
