"""Immutable objects: a base class, and read-only arrays."""

from typing import Any, ClassVar, NoReturn

import numpy as np

from cayleyklein._typing import Floats


class Frozen:
    """A base class of immutable objects that compare by value.

    ``__init__`` sets attributes by :meth:`_fill`; a ``cached_property`` still works. To copy, the
    attributes named in `_arguments` are passed to ``__init__``; objects are equal if these are.
    """

    __slots__ = ()
    _arguments: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, name) for name in self._arguments)

    def _fill(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object = None) -> NoReturn:
        said = f"is immutable: {name!r} cannot be deleted or changed. Make a new object instead."
        raise AttributeError(f"{type(self).__name__} {said}")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        return key_of(self) == key_of(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(key_of(self))


def key_of(thing: object) -> tuple[object, ...]:
    """Return the arguments that make an immutable object, arrays as their shapes and bytes."""
    arguments: Any = thing.__reduce__()[1]
    return tuple((a.shape, a.tobytes()) if isinstance(a, np.ndarray) else a for a in arguments)


def read_only(array: Floats) -> Floats:
    copy = array + 0.0  # without -0.0, so that equal arrays have equal bytes
    copy.setflags(write=False)
    return copy
