"""From a table to a classifier and back from a file: what the command works with."""

from cayleyklein.models._atomic import check_writable, writing
from cayleyklein.models._checkpoint import Checkpoint
from cayleyklein.models._encoder import ColumnUse, TableEncoder
from cayleyklein.models._files import FORMAT_VERSION, load_model, save_model
from cayleyklein.models._table import LearnedMetric, TableClassifier
from cayleyklein.models._target import split_target

__all__ = [
    "FORMAT_VERSION",
    "Checkpoint",
    "ColumnUse",
    "LearnedMetric",
    "TableClassifier",
    "TableEncoder",
    "check_writable",
    "load_model",
    "save_model",
    "split_target",
    "writing",
]
