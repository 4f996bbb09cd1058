"""Build what would be published and try it as a new user would: ``make release-check``.

The wheel, which is built from the sdist, and then the sdist itself are installed in a fresh
environment, from wheels alone but for our own sdist, with a PATH on which there is no compiler.
Both must bring the same files, all that git tracks, and work: without extras, and with the command.
The packages are left in ``dist``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
SMOKE = ROOT / "tests" / "smoke.py"

INSTALLED = """
from importlib.metadata import files
ours = (f for f in files("cayleyklein") if f.parts[0] == "cayleyklein" and f.suffix != ".pyc")
print(*map(str, ours), sep="\\n")
"""


def run(*command: object, **environment: str) -> str:
    """Run a command and return what it prints; its errors are shown."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    return done.stdout


def build() -> tuple[Path, Path]:
    """Return a wheel and an sdist with valid metadata."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    return next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))


def tracked() -> set[str]:
    """Return the files of the package that git knows; the examples come along in it."""
    found = run("git", "-C", ROOT, "ls-files", "src/cayleyklein", "examples").splitlines()
    return {
        f"cayleyklein/{name}" if name.startswith("examples/") else name.removeprefix("src/")
        for name in found
    }


def main() -> int:
    """Build, install, use, compare."""
    wheel, sdist = build()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        # joblib asks a program how many cores there are, unless it is told
        bare = {"PATH": str(python.parent), "CC": "false", "LOKY_MAX_CPU_COUNT": "1"}
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        for package in (
            ("--only-binary", ":all:", wheel),
            ("--no-deps", "--force-reinstall", sdist),
        ):
            run(*pip, *package, **bare)
            sys.stdout.write(run(python, SMOKE, "core", **bare))
            installed = set(run(python, "-c", INSTALLED, **bare).splitlines())
            assert installed == tracked(), installed ^ tracked()
        run(*pip, "--only-binary", ":all:", f"{wheel}[cli]", **bare)
        sys.stdout.write(run(python, SMOKE, "cli", **bare))
    sys.stdout.write(f"{wheel.name} and {sdist.name}: {len(installed)} files each\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
