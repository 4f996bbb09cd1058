"""Loops compiled by Numba, which is imported at their first call: it takes half a second."""

from collections.abc import Callable, Collection
from functools import cache, cached_property, partial, update_wrapper
from typing import Any

from cayleyklein._validation import warn_caller


class Kernel:
    """A function that is compiled at its first call, and cached on disk where that works."""

    # It releases the interpreter's lock and starts no threads: safe in any pool, and after a fork.

    def __init__(
        self, function: Callable[..., Any], fastmath: Collection[str] = (), inline: str = "never"
    ) -> None:
        self._function = function
        self._options = {"fastmath": set(fastmath), "inline": inline}
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        home, name = self._function.__globals__, self._function.__name__
        if home.get(name) is self:  # later calls from its module go straight to Numba
            home[name] = self.compiled
        return self.compiled(*args)

    @cached_property
    def compiled(self) -> Any:
        from numba import njit

        names = self._function.__globals__
        for name in self._function.__code__.co_names:
            if isinstance(names.get(name), Kernel):  # Numba calls only what it compiled itself
                names[name] = names[name].compiled
        build = partial(njit, nogil=True, error_model="numpy", **self._options)
        try:
            return build(cache=True)(self._function)
        except RuntimeError:  # no folder for the cache can be written to
            warn_once()
            return build()(self._function)


@cache
def warn_once() -> None:
    warn_caller(
        "Compiled code cannot be kept: neither the package's folder nor a home can be written to, "
        "so every process compiles again, for some seconds. Set NUMBA_CACHE_DIR to a folder that "
        "can."
    )


# Kernels whose sums and minima may be taken in any order, for arrays without NaN.
vectorised = partial(Kernel, fastmath=("nnan", "nsz", "reassoc", "contract"))
# Kernels that are copied into those that call them: faster, where they are called in a loop.
inlined = partial(Kernel, inline="always")
