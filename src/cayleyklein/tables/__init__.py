"""Tables as people have them: reading, encoding and classifying them, and model files."""

from cayleyklein.tables._atomic import check_writable, writing
from cayleyklein.tables._classifier import TableClassifier
from cayleyklein.tables._columns import Column, split_target
from cayleyklein.tables._encoder import TableEncoder
from cayleyklein.tables._model_files import FORMAT_VERSION, load_model, save_model
from cayleyklein.tables._reading import iter_table, read_table

__all__ = [
    "FORMAT_VERSION",
    "Column",
    "TableClassifier",
    "TableEncoder",
    "check_writable",
    "iter_table",
    "load_model",
    "read_table",
    "save_model",
    "split_target",
    "writing",
]
