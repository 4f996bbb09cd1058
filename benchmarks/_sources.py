"""What a measurement depends on: its command, its script, and the source files that these import.

``digest`` is the same as long as all of these do the same: comments, docstrings and blank lines
are left out. Imports are read, not run, in strings too, for some scripts write programs for other
processes. Releases of other libraries do not count; outputs name them.
"""

import ast
import hashlib
import io
import re
import shlex
import tokenize
from functools import cache
from pathlib import Path

IMPORT = re.compile(r"\bfrom ([\w.]+) import (\([^)]*\)|[^\n;]+)|\bimport ([\w.]+)")
DOTTED = re.compile(r"\bcayleyklein(?:\.\w+)+")
FRONT = ("plotting", "app", "cli", "experiments", "__main__.py")
"""What draws or prints; a method of the library that draws, or a card, changes no measurement."""


def digest(command: str, root: Path) -> str:
    """Return twelve digits that change when what the command runs does."""
    found = hashlib.sha256(command.encode())
    for path in sorted(sources(command, root)):
        found.update(f"\n{path.relative_to(root).as_posix()}\n{code(path)}".encode())
    return found.hexdigest()[:12]


def sources(command: str, root: Path) -> set[Path]:
    """Return the files of Python that a command reaches by imports, in any number of steps."""
    words = shlex.split(command)
    waiting = [root / word for word in words if word.endswith(".py") and (root / word).is_file()]
    if words[0] == "-m":
        waiting.append(root / "src" / words[1] / "__main__.py")
    reached: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += imported(path, root)
    return reached


@cache
def imported(path: Path, root: Path) -> tuple[Path, ...]:
    """Return the files of this repository that a file imports or mentions by their dotted names."""
    place = path.relative_to(root).parts
    if place[-2:] == ("cayleyklein", "__init__.py"):
        return ()  # it imports what it is asked for
    text = code(path)
    names = {match[0] for match in DOTTED.finditer(text)}
    script = place[:2] != ("src", "cayleyklein")
    if "getattr(cayleyklein," in text:  # it may mean any of its names
        names |= {name for name in where(root).values() if name.split(".")[1] not in FRONT}
    for module, listed, plain in IMPORT.findall(text):
        names.add(module or plain)
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", listed)} if module else set()
    draws = script or place[2] in FRONT
    found = []
    for name in names:
        name = where(root).get(name.removeprefix("cayleyklein."), name)
        if not draws and name.startswith("cayleyklein.") and name.split(".")[1] in FRONT:
            continue
        for base in (root / "src", root, root / "benchmarks"):
            inside = base.joinpath(*name.split("."))
            files = (inside.with_suffix(".py"), inside / "__init__.py")
            found += [file for file in files if file.is_file()]
    return tuple(found)


@cache
def where(root: Path) -> dict[str, str]:
    """Return the folder of each name that can be imported from ``cayleyklein`` itself."""
    file = root / "src" / "cayleyklein" / "__init__.py"
    text = file.read_text("utf-8") if file.is_file() else ""
    return {
        name: module
        for module, listed, _ in IMPORT.findall(text)
        if module.startswith("cayleyklein.")
        for name in re.findall(r"\w+", listed)
    }


@cache
def code(path: Path) -> str:
    """Return a file without comments, docstrings and blank lines."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def read_again() -> None:
    """Forget what was read; the files may have changed."""
    for function in (code, imported, where):
        function.cache_clear()
