"""Types of arrays, for the whole package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating[Any]]  # in the precision of the input, single or double
Complexes = NDArray[np.complex128]
AnyComplexes = NDArray[np.complexfloating[Any, Any]]
Ints = NDArray[np.intp]  # indices and counts
Bools = NDArray[np.bool_]
Texts = NDArray[np.str_]
AnyArray = NDArray[Any]  # labels, or values whose type does not matter
