"""Nearest neighbours by a metric: search and votes."""

from cayleyklein.neighbors._index import CHUNK as CHUNK
from cayleyklein.neighbors._index import Algorithm as Algorithm
from cayleyklein.neighbors._index import Ranked as Ranked
from cayleyklein.neighbors._index import SearchIndex as SearchIndex
from cayleyklein.neighbors._index import as_metric as as_metric
from cayleyklein.neighbors._nearest import CurvedNeighbors
from cayleyklein.neighbors._points import Ballot as Ballot
from cayleyklein.neighbors._points import cast_votes as cast_votes
from cayleyklein.neighbors._points import class_votes as class_votes
from cayleyklein.neighbors._points import distinct_rows as distinct_rows
from cayleyklein.neighbors._points import without_vote as without_vote
from cayleyklein.neighbors._shards import LEAST_ROWS as LEAST_ROWS
from cayleyklein.neighbors._shards import Blocks as Blocks
from cayleyklein.neighbors._votes import KINDS as KINDS
from cayleyklein.neighbors._votes import NEAR as NEAR
from cayleyklein.neighbors._votes import LocalScales as LocalScales
from cayleyklein.neighbors._votes import Weights as Weights
from cayleyklein.neighbors._votes import as_scales as as_scales
from cayleyklein.neighbors._votes import check_weights as check_weights
from cayleyklein.neighbors._votes import class_shares as class_shares
from cayleyklein.neighbors._votes import fifth_nearest as fifth_nearest
from cayleyklein.neighbors._votes import local_votes as local_votes
from cayleyklein.neighbors._votes import neighbor_weights as neighbor_weights
from cayleyklein.neighbors._votes import votes_of as votes_of
from cayleyklein.neighbors._votes import weighted_mean as weighted_mean

# Names imported "as" themselves are for the other folders of this package, not for users.

__all__ = ["CurvedNeighbors"]
