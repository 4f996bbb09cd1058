"""Try an installed cayleyklein as a new user would: called by `make release-check`, not by pytest.

``python tests/smoke.py core`` is for an installation without extras: the README's Python runs, and
the command says in one sentence what it lacks. ``python tests/smoke.py cli`` runs the command.
"""

import importlib.metadata
import os
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import cayleyklein

ROOT = Path(__file__).resolve().parents[1]


def command(*arguments):
    """Run the command as it is installed; return its exit code and what it says."""
    program = Path(sys.executable).with_name("cayleyklein")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check_package():
    """The package is the installed one, with all its files and one version."""
    home = Path(cayleyklein.__file__).resolve()
    assert ROOT / "src" not in home.parents, f"{home} is the checkout, not what was installed"
    assert importlib.metadata.version("cayleyklein") == cayleyklein.__version__
    assert command("--version") == (0, f"cayleyklein {cayleyklein.__version__}\n")
    for name in ("py.typed", "datasets/data/wine.csv", "app/static/explorer.css"):
        assert (files("cayleyklein") / name).is_file(), f"{name} is missing"


def check_core():
    """The README's Python runs without any extra, and what needs one says so."""
    sys.path.append(str(ROOT))  # which has the tests, but not the package: that is in src
    from tests.snippets import blocks_of

    readme = (ROOT / "README.md").read_text("utf-8")
    for block in blocks_of(readme, "README.md"):
        if block.language == "python":
            exec(compile(block.code, block.name, "exec"), {"__name__": "snippet"})
    code, text = command("datasets")
    assert code == 1, text
    assert 'pip install "cayleyklein[cli]"' in text


def check_cli():
    """The command compares, and writes its report."""
    report = Path("report.html")
    code, text = command("compare", "wine", "--splits", "2", "-o", str(report))
    assert code == 0, text
    assert report.stat().st_size > 10_000


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    check_package()
    {"core": check_core, "cli": check_cli}[sys.argv[1]]()
    sys.stdout.write(f"cayleyklein {cayleyklein.__version__} ({sys.argv[1]}) works.\n")
