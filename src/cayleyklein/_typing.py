"""Types of arrays, for the whole package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Numbers in double precision."""

AnyFloats = NDArray[np.floating[Any]]
"""Numbers in the precision of the input, single or double."""

Complexes = NDArray[np.complex128]

AnyComplexes = NDArray[np.complexfloating[Any, Any]]

Ints = NDArray[np.intp]
"""Indices and counts."""

Bools = NDArray[np.bool_]

Texts = NDArray[np.str_]

AnyArray = NDArray[Any]
"""Labels, or values whose type does not matter."""
