"""The option ``--dask``: joblib's work on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import parallel_config

from cayleyklein._distributed import clear_cluster_errors
from cayleyklein._validation import require
from cayleyklein.exceptions import ClusterError

__all__ = ["cluster_at"]

PATIENCE = "10 s"
"""How long a scheduler may take to answer."""


@contextmanager
def cluster_at(address: str | None) -> Iterator[None]:
    """Let joblib use the cluster of a scheduler; without an address, processes as ever."""
    if address is None:
        yield
        return
    distributed = require("distributed", "scale")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {address}; start one by `dask scheduler`, and "
            f"`dask worker ADDRESS` on every machine, or leave --dask out."
        ) from error
    with client, clear_cluster_errors("the cells"), parallel_config("dask", client=client):
        yield
