"""Maps of dissimilarities in spaces of constant curvature, and embeddings made elsewhere."""

from cayleyklein.manifold._from_chart import FromChart
from cayleyklein.manifold._mds import CurvedMDS

__all__ = ["CurvedMDS", "FromChart"]
