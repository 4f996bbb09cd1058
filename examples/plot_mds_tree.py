"""
A family tree of languages, and a learned metric, as maps
=========================================================

(a) Indo-European languages and their branches, by the number of steps between them in the family
tree, in Poincaré's disc. Leaves multiply with every step, faster than there is room in a plane, and
as fast as in the hyperbolic plane. The curvature that CurvedMDS learns has the smallest errors, but
is so strong that it presses the leaves to the rim; for the picture a weaker one is given. (b) The
same in the flat plane, where branches are stretched and leaves fall together. (c) Wines, in the
elliptic metric that a learner found for telling three growers apart by 13 columns: two dimensions
of the same curvature hold it almost exactly, each grower on an arc of a great circle; a flat map
does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedLMNN, CurvedMDS
from cayleyklein.datasets import load_wine
from cayleyklein.plotting import MapDisplay

TREE = {
    "Indo-European": ["Germanic", "Italic", "Celtic", "Balto-Slavic", "Indo-Iranian", "Greek",
                      "Armenian", "Albanian"],
    "Germanic": ["West Germanic", "North Germanic"],
    "West Germanic": ["English", "Frisian", "Dutch", "German"],
    "North Germanic": ["Icelandic", "Norwegian", "Swedish", "Danish"],
    "Italic": ["Western Romance", "Italian", "Romanian"],
    "Western Romance": ["French", "Occitan", "Catalan", "Spanish", "Portuguese"],
    "Celtic": ["Goidelic", "Brythonic"],
    "Goidelic": ["Irish", "Scottish Gaelic", "Manx"],
    "Brythonic": ["Welsh", "Breton", "Cornish"],
    "Balto-Slavic": ["Baltic", "Slavic"],
    "Baltic": ["Lithuanian", "Latvian"],
    "Slavic": ["East Slavic", "West Slavic", "South Slavic"],
    "East Slavic": ["Russian", "Ukrainian", "Belarusian"],
    "West Slavic": ["Polish", "Czech", "Slovak", "Sorbian"],
    "South Slavic": ["Bulgarian", "Macedonian", "Serbo-Croatian", "Slovene"],
    "Indo-Iranian": ["Indo-Aryan", "Iranian"],
    "Indo-Aryan": ["Hindi", "Bengali", "Punjabi", "Marathi", "Gujarati", "Nepali"],
    "Iranian": ["Persian", "Pashto", "Kurdish", "Balochi"],
}  # fmt: skip

names = [*TREE, *(leaf for branch in TREE.values() for leaf in branch if leaf not in TREE)]
edges = np.array([(names.index(a), names.index(b)) for a, branch in TREE.items() for b in branch])
ones = np.ones(len(edges))
steps = shortest_path(coo_array((ones, edges.T), shape=(len(names),) * 2).tocsr(), directed=False)
branch_of = shortest_path(coo_array((ones, edges.T), shape=(len(names),) * 2).tocsr())
families = TREE["Indo-European"]
family = np.array([
    next((f for f in families if np.isfinite(branch_of[names.index(f), i])), "(root)")
    for i in range(len(names))
])  # fmt: skip

figure = plt.figure(figsize=(13, 4.6), layout="constrained")
pairs = len(names) * (len(names) - 1) / 2
for place, curvature in enumerate([-0.5, 0.0, "learned"]):
    mds = CurvedMDS(metric="precomputed", curvature=curvature, random_state=0).fit(steps)
    error = np.sqrt(mds.stress_ / pairs)
    print(f"K = {mds.curvature_:.2f}: distances are wrong by {error:.2f} steps")
    if curvature == "learned":
        continue
    ax = figure.add_subplot(1, 3, place + 1)
    shown = [name if name in TREE else "" for name in names]
    display = MapDisplay.from_estimator(mds, family, names=shown, edges=edges)
    display.plot(ax, legend=False)
    ax.set_title(f"({'ab'[place]}) {ax.get_title()}: errors of {error:.2f} steps", fontsize=10)

wine = load_wine()
X, y = StandardScaler().fit_transform(wine.data), wine.target_names[wine.target]
metric = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y).metric_
mds = CurvedMDS(metric=metric, random_state=0).fit(X)
flat = CurvedMDS(metric=metric, curvature=0.0).fit(X)
print(f"Wines: K = {mds.curvature_:.3f}, in the metric {metric.curvature:.3f}")
kruskal = [np.sqrt(2 * m.stress_ / np.square(m.distances_).sum()) for m in (mds, flat)]
print(f"Kruskal's stress {kruskal[0]:.4f}, in a flat map {kruskal[1]:.4f}")
ax = figure.add_subplot(1, 3, 3, projection="3d")
MapDisplay.from_estimator(mds, y).plot(ax)
ax.set_title(f"(c) wines by a learned metric, {ax.get_title()}", fontsize=10)

plt.show()
