"""Every public entrance, with one valid call, from which each kind of bad input is made."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.trust.kinds import Kind, Role

import cayleyklein

PACKAGES = (
    "app", "cli", "datasets", "diagrams", "experiments", "geometry", "learning", "metrics",
    "neighbors", "plotting", "tables",
)  # fmt: skip

SKLEARN_METHODS = ("fit_transform", "get_feature_names_out", "score")
"""Methods that estimators inherit and that work on what users give; the rest is scikit-learn's."""


@dataclass(frozen=True)
class Entrance:
    """One public function, constructor or method, and a valid call of it.

    `owner` makes the object whose method it is; `call` stands for the call where it takes more
    than one line, such as an estimator whose parameters are only looked at by `fit`. An entrance
    that is not `quick` is only told to refuse: its valid call is tested elsewhere.
    """

    path: str
    args: dict[str, Role]
    owner: Callable[[], Any] | None = None
    call: Callable[..., Any] | None = None
    quick: bool = True
    also_named: tuple[str, ...] = ()

    def function(self, owner: Any = None) -> Callable[..., Any]:
        """Return what is called."""
        if self.call is not None:
            return self.call
        if owner is not None:
            return getattr(owner, self.path.rpartition(".")[2])
        return resolve(self.path)

    def cases(self) -> Iterator[Case]:
        """Return each kind of input for each parameter."""
        for name, role in self.args.items():
            for kind in role:
                yield Case(self, name, kind)


class Case(NamedTuple):
    """One kind of input in the place of one argument."""

    entrance: Entrance
    parameter: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.entrance.path}({self.parameter}): {self.kind.name}"


def resolve(path: str) -> Any:
    """Return the object of a path below the package."""
    package, *names = path.split(".")
    found = importlib.import_module(f"cayleyklein.{package}")
    for name in names:
        found = getattr(found, name)
    return found


def parameters(path: str) -> list[str]:
    """Return the names of the parameters of an entrance."""
    function = resolve(path)
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    signature = inspect.signature(function).parameters.values()
    return [p.name for p in signature if p.kind not in kinds and p.name != "self"]


def public_entrances() -> dict[str, list[str]]:
    """Return every public callable that takes arguments, found in the packages themselves."""
    homes = {f"{home}.{name}" for name, home in cayleyklein._HOME.items()}
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        module = importlib.import_module(f"cayleyklein.{package}")
        for name in module.__all__:
            thing, path = getattr(module, name), f"{package}.{name}"
            homes.discard(path)
            if inspect.isclass(thing):
                names = [path] * (not is_record(thing))
                names += [f"{path}.{method}" for method in methods_of(thing)]
            else:
                names = [path] * callable(thing)
            found |= {name: given for name in names if (given := parameters(name))}
    assert not homes, f"not in the __all__ of their packages: {homes}"
    return found


def is_record(kind: type) -> bool:
    """Whether instances are made by the library alone: results, and pictures made by `from_…`."""
    return (
        hasattr(kind, "_fields")
        or hasattr(kind, "__dataclass_fields__")
        or getattr(kind, "_is_protocol", False)
        or any(name.startswith("from_") for name in vars(kind) if kind.__name__.endswith("Display"))
    )


def methods_of(kind: type) -> list[str]:
    """Return the public methods that the library defines, or that work on what users give."""
    if getattr(kind, "_is_protocol", False):
        return []
    names = []
    for name in dir(kind):
        member = getattr(kind, name)
        if name == "__call__" or (callable(member) and not name.startswith("_")):
            module = getattr(member, "__module__", None) or ""
            if module.startswith("cayleyklein") or name in SKLEARN_METHODS:
                names.append(name)
    return names
