"""Learners: from labelled rows to a metric."""

from cayleyklein.learning._descent import Progress
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.learning._mmc import MMC
from cayleyklein.learning._selection import Selection, Trial

__all__ = ["MMC", "CurvedLMNN", "Progress", "Selection", "Trial"]
