"""
How do I draw my hyperbolic embedding of many dimensions in a disc?
===================================================================

Embeddings of hierarchies have 5, 10 or 100 dimensions, and a picture has two. Dropping columns, or
t-SNE on the coordinates, ignores what the coordinates mean: near the rim of Poincaré's ball small
steps are long ways. ``map_embedding`` takes points in any chart, projects them to the principal
geodesic plane through their Fréchet mean, and lowers the errors of distances from there. It says
what the picture keeps, beside a flat map of the same points. ``MapDisplay`` draws it.

The hierarchy here is the tree of modules of SciPy and scikit-learn, as they are installed. Its
embedding in ten dimensions stands for yours.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import scipy
import sklearn

from cayleyklein import embed_tree, map_embedding
from cayleyklein.plotting import MapDisplay

parent_of = {}
for package in (scipy, sklearn):
    top = Path(package.__file__).parent
    for file in sorted(top.rglob("*.py")):
        module = (package.__name__, *file.relative_to(top).with_suffix("").parts)
        hidden = any(part.startswith("_") for part in module)
        if hidden or {"tests", "externals"} & set(module):
            continue
        for depth in range(len(module), 0, -1):
            parent_of[module[:depth]] = module[: depth - 1]

tree = embed_tree(parent_of, 10, scale=1.5)  # in practice: your embedding
print(f"{len(tree.names)} modules, embedded in {tree.direction.shape[1]} dimensions")
X = tree.points  # (n, 11), Lorentz coordinates, the time last
root = tree.center

# %%
# One call makes the map. The mean error of a distance is half of that of a flat map.

found = map_embedding(X, "hyperboloid", random_state=0)
print(found)

subpackage = [".".join(name[:2]) for name in tree.names]
largest = sorted(sorted(set(subpackage)), key=subpackage.count)[-6:]
classes = [name if name in largest else "others" for name in subpackage]
names = [name[0] if len(name) == 1 else "" for name in tree.names]
display = MapDisplay.from_estimator(found, classes, names=names, edges=tree.edges, center=root)
ax = display.plot(s=9).ax_
ax.set_title(f"10 dimensions in 2: stress {found.quality['map'].stress:.2f}")

# %%
# Any row can be in the centre, by an isometry: the disc shows its surroundings at full size, and no
# distance changes. The same map as a page, to be dragged by hand without a server, is
# ``display.to_html("modules.html")``.

linalg = tree.names.index(("scipy", "sparse", "linalg"))
figure, panels = plt.subplots(1, 2, figsize=(9, 5), layout="compressed")
for ax, row in zip(panels, (root, linalg), strict=True):
    display.centered(row).plot(ax, cells=True, legend=False, s=9)
    ax.set_title(f"around {'.'.join(tree.names[row]) or 'the root'}", fontsize=10)
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

# %%
# If what you have is the tree itself, no embedding is needed: ``embed_tree`` places it in the disc.

disc = embed_tree(parent_of, scale=2.0)
print(disc)
MapDisplay.from_estimator(disc, classes).plot(s=9)
plt.show()
