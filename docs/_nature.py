# The picture of README.md and docs/nature.md, of what two examples of the gallery draw.
#     python docs/_nature.py    writes docs/_static/nature.png

import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"

disc, globe = (
    runpy.run_path(str(EXAMPLES / f"plot_{name}.py"))["display"]
    for name in ("hyperbolic_disc", "globe_cells")
)
plt.close("all")
figure, axes = plt.subplots(1, 2, figsize=(9, 4.9), layout="constrained")
disc.plot(axes[0], cells=True, legend=False, s=12)
axes[0].set_title("a hyperbolic embedding of ten dimensions", fontsize=11, pad=14)
globe.plot(axes[1], cells=True, legend=False, s=14)
axes[1].set_title("places, all around the globe", fontsize=11, pad=14)
figure.savefig(HERE / "_static" / "nature.png", dpi=80, metadata={"Software": None})
