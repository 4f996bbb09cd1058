"""Docstrings keep up with the code: every public name has an example, and defaults are right.

What counts as public is what the packages list in ``__all__``. A class or a function has its own
``Examples``; a method may be shown in those of its class, of a base or of other methods instead;
a constant is shown in some example of its package. What scikit-learn or Python themselves bring
along is theirs to document.

A docstring with ``Parameters`` lists those of the signature, all of them and in order. A default
that it names is the signature's; a parameter with another default than None says so. "see" another
function means that the defaults are that one's. `y` may be None for scikit-learn's sake alone.
"""

import ast
import importlib
import inspect
import re
from pkgutil import iter_modules

import pytest
from numpydoc.docscrape import NumpyDocString

import cayleyklein

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
    submodules = {package.partition(".")[2] for package in PACKAGES} - nothing_public
    home = ""
    for name in cayleyklein.__all__[1:]:
        home = name if name in submodules else home
        package = f"cayleyklein.{home}"
        found = importlib.import_module(package) if name == home else public(package)[name]
        assert getattr(cayleyklein, name) is found
    assert {"__version__", *submodules} <= set(cayleyklein.__all__)
    assert set(cayleyklein.__all__) <= set(dir(cayleyklein))


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
SEE = re.compile(r"see :(?:class|func|meth):`(?P<where>[\w.]+)`$")
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


def find(name, thing):
    """Return what a docstring refers to: a name of the library, or a method of the same class."""
    last = name.rpartition(".")[2]
    if inspect.isfunction(thing) and "." in thing.__qualname__:
        module = inspect.getmodule(thing)
        own = getattr(getattr(module, thing.__qualname__.partition(".")[0]), last, None)
        if own is not None:
            return own
    return next(found for where, found in CALLABLES.items() if where.endswith(f".{last}"))


def complaint(name, kind, default, thing=None):
    """Return what is wrong with the documented type of a parameter, or None."""
    elsewhere = SEE.match(kind)
    if elsewhere:
        theirs = signature(find(elsewhere["where"], thing))[name]
        return None if theirs == default else f"{name}: {default!r} here, {theirs!r} there"
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


@pytest.mark.parametrize("where", DESCRIBED)
def test_parameters_are_those_of_the_signature(where):
    thing = DESCRIBED[where]
    if not NumpyDocString(inspect.getdoc(thing) or "")["Parameters"]:
        return
    listed, real = dict(documented(thing, "Parameters")), signature(thing)
    assert list(listed) == list(real)
    wrong = [complaint(name, listed[name], default, thing) for name, default in real.items()]
    assert not any(wrong), [text for text in wrong if text]
