"""Learning a metric: from rows with labels, numbers or comparisons to distances.

Learners are loaded on first use: a classifier needs one of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cayleyklein.learning.comparisons import CurvedPairs, CurvedQuadruplets, CurvedTriplets
    from cayleyklein.learning.descent import Progress
    from cayleyklein.learning.lmnn import CurvedLMNN
    from cayleyklein.learning.mlkr import CurvedMLKR
    from cayleyklein.learning.mmc import MMC

HOMES = {"MMC": "mmc", "CurvedLMNN": "lmnn", "CurvedMLKR": "mlkr", "Progress": "descent"}
__all__ = [
    "MMC", "CurvedLMNN", "CurvedMLKR", "CurvedPairs", "CurvedQuadruplets", "CurvedTriplets",
    "Progress",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'cayleyklein.learning' has no attribute {name!r}")
    home = import_module(f"cayleyklein.learning.{HOMES.get(name, 'comparisons')}")
    return getattr(home, name)
