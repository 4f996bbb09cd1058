"""Build what would be published and try it as a new user would: ``make release-check``.

The wheel, which is built from the sdist, and then the sdist itself are installed in a fresh
environment, from wheels alone but for our own sdist, with a PATH on which there is no compiler.
Both must bring the same files, all that git tracks, and work without extras; the wheel also with
each of them, in an environment of its own. A user's script has its types checked against the wheel
by mypy, and runs. The packages are left in ``dist``.
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
USER_SCRIPT = ROOT / "tests" / "user_script.py"
EXTRAS = ("plot", "cli", "excel", "app", "scale", "mesh")

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
    """Return the files of the package that git knows."""
    found = run("git", "-C", ROOT, "ls-files", "src/cayleyklein").splitlines()
    return {name.removeprefix("src/") for name in found}


class Fresh:
    """A fresh environment, with a PATH on which there is no compiler."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self.python = folder / "bin" / "python"
        # joblib asks a program how many cores there are, unless it is told
        self.bare = {"PATH": str(self.python.parent), "CC": "false", "LOKY_MAX_CPU_COUNT": "1"}

    def run(self, *arguments: object) -> str:
        """Run its Python."""
        return run(self.python, *arguments, **self.bare)

    def install(self, *packages: object) -> None:
        """Install what is there as wheels, but for our own sdist."""
        self.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)

    def smoke(self, kind: str) -> None:
        """Use what is installed."""
        sys.stdout.write(self.run("-W", "error", SMOKE, kind))
        sys.stdout.flush()


def check_types(python: Path, folder: Path) -> None:
    """Check the user's script with the types of the installed package, and none of our settings."""
    strict = ("--strict", "--config-file=", "--cache-dir", folder / "mypy")
    run(sys.executable, "-m", "mypy", *strict, "--python-executable", python, USER_SCRIPT)


def main() -> int:
    """Build, install, use, compare."""
    wheel, sdist = build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        core = Fresh(folder / "core")
        for package in (
            ("--only-binary", ":all:", wheel),
            ("--no-deps", "--force-reinstall", sdist),
        ):
            core.install(*package)
            core.smoke("core")
            installed = set(core.run("-c", INSTALLED).splitlines())
            assert installed == tracked(), installed ^ tracked()
        core.install("--only-binary", ":all:", f"{wheel}[mesh]")
        check_types(core.python, folder)
        core.run("-W", "error", USER_SCRIPT)
        for extra in EXTRAS:
            fresh = Fresh(folder / extra)
            fresh.install("--only-binary", ":all:", f"{wheel}[{extra}]")
            fresh.smoke(extra)
    sys.stdout.write(f"{wheel.name} and {sdist.name}: {len(installed)} files each\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
