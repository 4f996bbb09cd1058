"""Tables as people have them: reading, encoding and classifying them, and model files."""

from cayleyklein.tables._classifier import TableClassifier
from cayleyklein.tables._columns import Column, split_target
from cayleyklein.tables._encoder import TableEncoder
from cayleyklein.tables._model_files import load_model, save_model
from cayleyklein.tables._reading import iter_table, read_table

__all__ = [
    "Column",
    "TableClassifier",
    "TableEncoder",
    "iter_table",
    "load_model",
    "read_table",
    "save_model",
    "split_target",
]
