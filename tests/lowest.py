"""Print the lowest releases that pyproject.toml allows, for ``pip install``.

Of the library and the extras named on the command line (all of the users' by default), not of the
tools of development. ``make lowest`` runs the tests with them.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
EXTRAS = ("plot", "cli", "excel", "app", "scale", "mesh")
BOUND = re.compile(r"([\w-]+(?:\[[\w,]+\])?)>=([\d.]+)")


def lowest(extras: list[str]) -> list[str]:
    """Return each requirement as ``name==lowest version``."""
    project = PROJECT["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    bounds = [BOUND.fullmatch(requirement) for requirement in wanted]
    return sorted({f"{found[1]}=={found[2]}" for found in bounds if found})


if __name__ == "__main__":
    sys.stdout.write(" ".join(lowest(sys.argv[1:] or list(EXTRAS))) + "\n")
