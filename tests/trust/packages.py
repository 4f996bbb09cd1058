"""Build the wheel and the sdist, and install each where there is no compiler: ``make package``.

In a fresh environment, from wheels alone but for our own sdist, with a PATH on which there is no
compiler. Both must bring the same files, all that the package has, and work.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SMOKE = """
import warnings
from importlib.metadata import files
from cayleyklein import CurvedKNeighborsClassifier, datasets
warnings.simplefilter("error")
for name in ("balance", "pima", "sonar", "vowel", "wine"):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
model = CurvedKNeighborsClassifier(geometry="elliptic").fit(X[::2], y[::2])
assert model.score(X[1::2], y[1::2]) > 0.8
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


def tracked() -> set[str]:
    """Return the files of the package that git knows."""
    found = run("git", "-C", ROOT, "ls-files", "src/cayleyklein").splitlines()
    return {name.removeprefix("src/") for name in found}


def main() -> int:
    """Build, install, compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT)
        run(sys.executable, "-m", "twine", "check", "--strict", *(folder / "dist").iterdir())
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        # joblib asks a program how many cores there are, unless it is told
        bare = {"PATH": str(python.parent), "CC": "false", "LOKY_MAX_CPU_COUNT": "1"}
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        wheel, sdist = (next((folder / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
        run(*pip, "--only-binary", ":all:", wheel, **bare)
        from_wheel = set(run(python, "-c", SMOKE, **bare).splitlines())
        run(*pip, "--no-deps", "--force-reinstall", sdist, **bare)
        from_sdist = set(run(python, "-c", SMOKE, **bare).splitlines())
        assert from_wheel == from_sdist, from_wheel ^ from_sdist
        assert from_wheel == tracked(), from_wheel ^ tracked()
        sys.stdout.write(
            f"{wheel.name} and {sdist.name}: {len(from_wheel)} files each, all that are tracked; "
            f"installed and used without a compiler\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
