"""What makes an object of this library immutable: its attributes, and the arrays they hold."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frozen", "read_only"]

Array = NDArray[np.float64]


class Frozen:
    """A base class whose instances refuse to set or delete attributes.

    ``__init__`` fills them by :meth:`_fill`; a ``cached_property`` still works.
    """

    __slots__ = ()

    def _fill(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is immutable; make a new one to change {name!r}."
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name!r} cannot be deleted.")


def read_only(array: Array) -> Array:
    """Return a copy that cannot be written to."""
    copy = array + 0.0  # without -0.0, so that equal arrays have equal bytes
    copy.setflags(write=False)
    return copy
