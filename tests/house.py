"""Rules of the house that no linter has. Run by ``make check``; prints what breaks them.

- A folder imports from other folders only modules without a leading underscore.
- No two modules define the same top-level name; names with a leading underscore do not count.
- No package re-exports a name "as" itself.
- Nobody uses a private attribute, `x._name`, of another object: not of another folder's, nor of
  another library's but for `PROTOCOLS`. In a folder only the modules in `FRIENDS` do.
- Every path in CONTRIBUTING.md exists.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "cayleyklein"

# Private names of other libraries that have no public counterpart.
PROTOCOLS = {
    "_parameter_constraints": "scikit-learn's checks of parameters, which estimators define",
    "_validate_params": "the same",
    "_init_callback_context": "scikit-learn's callbacks, which an estimator starts by it",
    "_repr_html_inner": "the table of parameters in scikit-learn's HTML",
    "_predictors": "the trees of scikit-learn's histogram boosting",
    "_baseline_prediction": "its scores before the first tree",
}
# Modules that use private names of classes of their own folder.
FRIENDS = {
    "learning/choice.py": "runs the steps of a learner on rows that are left out",
    "metrics/_base.py": "sums and products ask their parts, on rows that are checked",
    "metrics/combined.py": "the same",
    "prediction/state.py": "fills a model from a file",
    "tables/_model_files.py": "the same",
}


def folder_of(path):
    """Return the folder of a module inside the package; "" for a module at the top."""
    folder, *inside = path.relative_to(SOURCE).parts
    return folder if inside else ""


def private_names(tree):
    """Yield the private names that a module defines: functions, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr


def is_own(node):
    """Say whether an attribute is one of `self`, `cls` or `super()`."""
    owner = node.value.func if isinstance(node.value, ast.Call) else node.value
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls", "super")


def private_reach(path, tree, defined):
    """Yield each use of a private attribute of another object.

    `defined` are the private names of each folder: a friend may use those of its own.
    """
    home = path.relative_to(SOURCE).as_posix()
    known = defined[folder_of(path)] if home in FRIENDS else set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or is_own(node):
            continue
        name = node.attr
        private = name.startswith("_") and not name.startswith("__")
        of_tuples = {"_replace", "_asdict", "_fields", "_make"}
        if private and name not in {*of_tuples, *PROTOCOLS, *known}:
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)} is private"


def private_imports(path, tree):
    """Yield each import of a private module of another folder."""
    own = path.relative_to(SOURCE).parts[0]
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, inside = name.partition(".")
            folder, *inner = inside.split(".")
            private = any(part.startswith("_") for part in inner) and folder != "_version"
            if package == "cayleyklein" and folder != own and private:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {name} is private to its folder"


def re_exports(path, tree):
    """Yield each import of a name as itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == alias.asname and (node.module or "").startswith("cayleyklein"):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name} as itself"


def top_level_names(tree):
    """Yield the public names that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def main():
    """Return 0, or all faults as text."""
    faults, homes, defined = [], defaultdict(list), defaultdict(set)
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    for path, tree in trees.items():
        defined[folder_of(path)] |= set(private_names(tree))
    for path, tree in trees.items():
        faults += [*private_imports(path, tree), *re_exports(path, tree)]
        faults += private_reach(path, tree, defined)
        for name in set(top_level_names(tree)):
            if not name.startswith("_"):
                homes[name].append(str(path.relative_to(ROOT)))
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            faults.append(f"{name} is defined in {' and in '.join(places)}")
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in sorted(set(re.findall(r"`([\w/]+\.py)`", text))):
        if not any((base / name).is_file() for base in (ROOT, SOURCE)):
            faults.append(f"CONTRIBUTING.md: {name} does not exist")
    return "\n".join(faults) or 0


if __name__ == "__main__":
    sys.exit(main())
