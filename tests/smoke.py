"""Try an installed cayleyklein as a new user would: called by `make release-check`, not by pytest.

``python tests/smoke.py core`` is for an installation without extras: the README's Python runs, and
the command says in one sentence what it lacks. ``python tests/smoke.py plot`` and so on are for an
installation with that extra.
"""

import importlib.metadata
import os
import subprocess
import sys
import tempfile
import urllib.request
from importlib.resources import files
from pathlib import Path

import numpy as np

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
    """Models of arrays need no extra, and what needs one says so."""
    X, y = cayleyklein.datasets.load_wine(return_X_y=True)
    model = cayleyklein.CurvedKernelClassifier(random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert model.explain(X[1]).prediction == y[1]
    assert cayleyklein.estimate_curvature(X, y, random_state=0).verdict
    code, text = command("datasets")
    assert code == 1, text
    assert 'pip install "cayleyklein[cli]"' in text


def check_plot():
    """A diagram and a figure of the paper are drawn."""
    from cayleyklein.plotting import VoronoiDisplay

    sites = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]
    disc = cayleyklein.CurvedMetric.euclidean(2, curvature=-1.0)
    VoronoiDisplay.from_points(sites, disc).plot().figure_.savefig("diagram.png")
    assert Path("diagram.png").stat().st_size > 10_000
    cayleyklein.plotting.paper_figure("spheres").savefig("spheres.png")
    assert Path("spheres.png").stat().st_size > 10_000


def check_cli():
    """The README's Python runs, with pandas; the command helps, compares and draws."""
    sys.path.append(str(ROOT))  # which has the tests, but not the package: that is in src
    from tests.snippets import blocks_of

    readme = (ROOT / "README.md").read_text("utf-8")
    for block in blocks_of(readme, "README.md"):
        if block.language == "python":
            exec(compile(block.code, block.name, "exec"), {"__name__": "snippet"})
    code, text = command("--help")
    assert code == 0, text
    assert "compare" in text
    report = Path("report.html")
    code, text = command("compare", "wine", "--splits", "2", "-o", str(report))
    assert code == 0, text
    assert report.stat().st_size > 10_000
    code, text = command("figures", "bisectors", "-o", "pictures")
    assert code == 0, text
    assert sorted(path.name for path in Path("pictures").iterdir()) == [
        "bisectors.png",
        "bisectors.svg",
    ]


def check_excel():
    """A workbook is written and read."""
    import pandas as pd

    pd.DataFrame({"a": [1.5, 2.5]}).to_excel("table.xlsx", index=False)
    assert cayleyklein.tables.read_table("table.xlsx")["a"].tolist() == [1.5, 2.5]


def check_app():
    """The explorer answers, and stops when it is told."""
    program = Path(sys.executable).with_name("cayleyklein")
    asked = [program, "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(word for line in server.stdout for word in line.split() if "://" in word)
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<title>" in answer.read()
        finally:
            server.terminate()
    assert server.returncode == 0


def check_scale():
    """A search of rows in Dask finds what a search in memory does."""
    import dask.array as da

    X = np.random.default_rng(0).normal(size=(60, 3))
    spread = cayleyklein.CurvedNeighbors(3).fit(da.from_array(X, chunks=(20, 3)))
    rows = cayleyklein.CurvedNeighbors(3).fit(X).kneighbors(X, return_distance=False)
    assert (np.asarray(spread.kneighbors(X, return_distance=False)) == rows).all()


def check_mesh():
    """A mesh is written to a file, and becomes a surface."""
    disc = cayleyklein.CurvedMetric.euclidean(2, curvature=-1.0)
    mesh = cayleyklein.mesh_polygon([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8]], disc, max_area=0.05)
    mesh.to_meshio().write("mesh.vtk")
    assert Path("mesh.vtk").stat().st_size > 1_000
    assert mesh.to_trimesh("hyperboloid").vertices.shape == (len(mesh.vertices), 3)


CHECKS = {
    "core": check_core,
    "plot": check_plot,
    "cli": check_cli,
    "excel": check_excel,
    "app": check_app,
    "scale": check_scale,
    "mesh": check_mesh,
}

if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    check_package()
    CHECKS[sys.argv[1]]()
    sys.stdout.write(f"cayleyklein {cayleyklein.__version__} ({sys.argv[1]}) works.\n")
