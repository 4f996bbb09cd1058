"""Count the imports of another folder's private modules, and fail above a limit.

Run by ``make check``. A folder of the package imports from the front of others, as
``cayleyklein.metrics``, not from behind it, as ``cayleyklein.metrics._curved``.
"""

import ast
import sys
from pathlib import Path

LIMIT = 10
ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "cayleyklein"


def private_imports(path):
    """Yield the line and the module of each import from behind another folder's front."""
    own = path.relative_to(SOURCE).parts[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names[:1]]
        for name in names:
            package, _, inside = name.partition(".")
            folder, _, inner = inside.partition(".")
            private = any(part.startswith("_") for part in inner.split("."))
            if package == "cayleyklein" and folder not in (own, "_version") and private:
                yield node.lineno, name


def main():
    """List the imports where they are too many; return 0 otherwise."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, name in private_imports(path)
    ]
    if len(found) <= LIMIT:
        return 0
    head = f"{len(found)} imports of another folder's private modules; at most {LIMIT} are allowed:"
    return "\n".join([head, *found])


if __name__ == "__main__":
    sys.exit(main())
