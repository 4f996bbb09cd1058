"""Maps of dissimilarities, trees and graphs in curved spaces, and embeddings made elsewhere."""

from cayleyklein.manifold._from_chart import FromChart
from cayleyklein.manifold._mds import CurvedMDS
from cayleyklein.manifold.geojson import GlobePoints, read_geojson
from cayleyklein.manifold.graphs import GraphDistances, graph_distances
from cayleyklein.manifold.projection import EmbeddingMap, MapQuality, map_embedding
from cayleyklein.manifold.trees import Distortion, TreeEmbedding, embed_tree

__all__ = [
    "CurvedMDS",
    "Distortion",
    "EmbeddingMap",
    "FromChart",
    "GlobePoints",
    "GraphDistances",
    "MapQuality",
    "TreeEmbedding",
    "embed_tree",
    "graph_distances",
    "map_embedding",
    "read_geojson",
]
