"""Docstrings keep up with the code: every public name has an example, and parameters are right.

What counts as public is what the packages list in ``__all__``. A class or a function has its own
``Examples``; a method may be shown in those of its class, of a base or of other methods instead;
a constant is shown in some example of its package. What scikit-learn or Python themselves bring
along is theirs to document.

A class or a function lists the parameters of its signature, all of them and in order; so does a
method, unless its first lines say what its arguments are. The fields of a record may be described
by ``#:`` comments instead. A default that is named is the signature's; a parameter with another
default than None says so. `y` may be None for scikit-learn's sake alone.
"""

import ast
import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from sklearn.base import is_regressor
from sphinx.pycode import ModuleAnalyzer

import cayleyklein
from cayleyklein.learning import CurvedMLKR

PACKAGES = sorted(
    f"cayleyklein.{module.name}"
    for module in iter_modules(cayleyklein.__path__)
    if not module.name.startswith("_") and module.name != "cli"  # the command's help teaches it
)


def public(package):
    """Return the public things of a package by name."""
    module = importlib.import_module(package)
    return {name: getattr(module, name) for name in module.__all__}


def family(cls):
    """Return a class and those of its bases that are of this library, the class last."""
    return [base for base in reversed(cls.__mro__) if base.__module__.startswith("cayleyklein")]


def methods(cls):
    """Return the public methods that a class has from this library, by name."""
    return {
        name: getattr(cls, name)
        for base in family(cls)
        for name, value in vars(base).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, classmethod | staticmethod))
    }


NAMES = [(package, name, thing) for package in PACKAGES for name, thing in public(package).items()]
CALLABLES = {f"{package}.{name}": thing for package, name, thing in NAMES if callable(thing)}
METHODS = {
    f"{where}.{name}": (cls, method)
    for where, cls in CALLABLES.items()
    if inspect.isclass(cls)
    for name, method in methods(cls).items()
}


def examples(thing):
    """Return the lines of code in a docstring."""
    doc = inspect.getdoc(thing) or ""
    return "\n".join(re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", doc, re.M))


def test_lazy_names_are_those_of_the_packages():
    nothing_public = {"app", "columns", "parts"}
    modules = {package.partition(".")[2] for package in PACKAGES} - nothing_public
    assert {"__version__", *modules, *cayleyklein.MODULE_OF} == set(cayleyklein.__all__)
    assert set(cayleyklein.__all__) == set(dir(cayleyklein))
    for name in modules:
        assert getattr(cayleyklein, name) is importlib.import_module(f"cayleyklein.{name}")
    for name, module in cayleyklein.MODULE_OF.items():
        assert getattr(cayleyklein, name) is public(f"cayleyklein.{module}")[name]


def test_type_checkers_see_the_lazy_names():
    tree = ast.parse(Path(cayleyklein.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {alias.name for node in imports for alias in node.names}
    assert set(cayleyklein.__all__) <= seen


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_has_an_example(package):
    here = public(package)
    code = "\n".join(examples(thing) for thing in here.values())
    without = [
        name
        for name, thing in here.items()
        if not (examples(thing) if callable(thing) else re.search(rf"\b{name}\b", code))
    ]
    for where, (cls, method) in METHODS.items():
        if where.startswith(f"{package}."):
            own = "\n".join(map(examples, [*family(cls), *methods(cls).values()]))
            if not examples(method) and f".{method.__name__}(" not in own:
                without.append(where)
    assert not without


# -- parameters -------------------------------------------------------------------------

DEFAULT = re.compile(r"\bdefault[= ](?P<value>.+?)(?:;|$)")
NO_DEFAULT = object()


def documented(thing, section):
    """Return the parameters that a docstring lists, as (name, type) pairs."""
    parsed = NumpyDocString(inspect.getdoc(thing) or "")[section]
    return [(name.strip(), entry.type) for entry in parsed for name in entry.name.split(",")]


def signature(thing):
    """Return the parameters of a signature as name → default."""
    return {
        {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(p.kind.name, "") + p.name: (
            NO_DEFAULT if p.default is p.empty else p.default
        )
        for p in inspect.signature(thing).parameters.values()
        if p.name not in ("self", "cls")
    }


def complaint(name, kind, default, thing):
    """Return what is wrong with the documented type of a parameter, or None."""
    stated = DEFAULT.search(kind)
    if stated is None:
        if default is NO_DEFAULT or name.startswith("*"):
            return None
        if default is None:
            ok = name == "y" or "optional" in kind or "None" in kind
            return None if ok else f"{name}: may be None, which {kind!r} does not say"
        return f"{name}: default={default!r} is not said"
    if default is NO_DEFAULT:
        return f"{name}: has no default, but {kind!r}"
    try:
        value = ast.literal_eval(stated["value"].strip())
    except (SyntaxError, ValueError):
        name_of_value = stated["value"].strip()
        if getattr(default, "__name__", None) == name_of_value:  # a function or a type
            return None
        value = getattr(inspect.getmodule(thing), name_of_value, NO_DEFAULT)  # a constant
    same = value == default and type(value) is type(default)
    return None if same else f"{name}: default={default!r}, but {kind!r}"


DESCRIBED = CALLABLES | {where: method for where, (_, method) in METHODS.items()}


def commented_fields(cls):
    """Return the fields of a class that a ``#:`` comment describes."""
    found = ModuleAnalyzer.for_module(cls.__module__).find_attr_docs()
    return {name for owner, name in found if owner == cls.__name__}


def takes_parameters(thing):
    """Say whether a thing is called by users with parameters of its own."""
    if inspect.isclass(thing):
        return not issubclass(thing, Exception) and not getattr(thing, "_is_protocol", False)
    return bool(signature(thing))


@pytest.mark.parametrize("where", DESCRIBED)
def test_parameters_are_those_of_the_signature(where):
    thing = DESCRIBED[where]
    listed = dict(documented(thing, "Parameters"))
    if not listed:
        if where in METHODS or not takes_parameters(thing):
            return
        listed = dict(documented(thing, "Attributes"))
        if inspect.isclass(thing):
            assert set(signature(thing)) <= set(listed) | commented_fields(thing)
            return
    real = signature(thing)
    assert list(listed) == list(real)
    wrong = [complaint(name, listed[name], default, thing) for name, default in real.items()]
    assert not any(wrong), [text for text in wrong if text]


# -- fitted attributes ------------------------------------------------------------------

ESTIMATORS = {
    where: thing
    for where, thing in CALLABLES.items()
    if hasattr(thing, "get_params") and hasattr(thing, "fit")
}


def fitted(cls):
    """Return an estimator fitted to a small table, or to tuples of rows."""
    rng = np.random.default_rng(0)
    if hasattr(cls, "size"):  # a learner from pairs, triplets or quadruplets
        return cls().fit(rng.normal(size=(60, cls.size, 2)), np.repeat([1, -1], 30))
    rows = 0.1 * rng.normal(size=(60, 2))
    table = pd.DataFrame(rows, columns=["a", "b"])
    numbers = rows[:, 0] + rows[:, 1] ** 2
    if is_regressor(cls()) or cls is CurvedMLKR:
        return cls().fit(table, numbers)
    return cls().fit(table, (numbers > 0).astype(int))


@pytest.mark.parametrize("where", ESTIMATORS)
def test_fitted_attributes_are_those_documented(where):
    model = fitted(ESTIMATORS[where])
    listed, required = set(), set()
    for entry in NumpyDocString(inspect.getdoc(model))["Attributes"]:
        names = {name.strip() for name in entry.name.split(",")}
        listed |= names
        if "only if" not in " ".join(entry.desc):
            required |= names
    assert not {name for name in required if not hasattr(model, name)}
    public_state = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
    assert public_state <= listed


# -- numpydoc's own checks --------------------------------------------------------------

PROPERTIES = {
    f"{where}.{name}"
    for where, cls in CALLABLES.items()
    if inspect.isclass(cls)
    for base in family(cls)
    for name, value in vars(base).items()
    if isinstance(value, property | cached_property) and not name.startswith("_")
}
LEFT_OUT = {
    "ES01",  # a summary of one sentence often says all
    "EX01",  # examples: test_every_name_has_an_example, which also looks at those of the class
    "PR01",  # parameters: test_parameters_are_those_of_the_signature, which knows records
    "RT01",  # a summary "Return the ... of shape ..." needs no section that repeats it
    "SA01",  # few names need a "See Also"; the text links to others
}


@pytest.mark.parametrize("where", sorted({*DESCRIBED, *PROPERTIES}))
def test_numpydoc_accepts_it(where):
    faults = [(code, said) for code, said in validate(where)["errors"] if code not in LEFT_OUT]
    assert not faults
