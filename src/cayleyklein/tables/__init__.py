"""Messy tables: read and encode them, predict from them, and save models."""

from cayleyklein.columns.column import Column
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.tables._model_files import load_model, save_model
from cayleyklein.tables._models import TableClassifier, TableRegressor
from cayleyklein.tables._reading import iter_table, read_table
from cayleyklein.tables.targets import split_target

__all__ = [
    "Column",
    "TableClassifier",
    "TableEncoder",
    "TableRegressor",
    "iter_table",
    "load_model",
    "read_table",
    "save_model",
    "split_target",
]
