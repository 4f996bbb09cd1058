"""
When is a curved map better than a flat one?
============================================

When the dissimilarities are those of a curved space: steps in a tree, or distances in a curved
metric that was learned.
"""

# %%
# **A tree.** Indo-European languages and their branches, by the number of steps between them in the
# family tree: (a) in Poincaré's disc, (b) in the flat plane. Leaves multiply with every step, for
# which a plane has too little room and the hyperbolic plane enough. So the flat map stretches
# branches and lets leaves fall together. The curvature that CurvedMDS learns has the smallest
# errors, but is so strong that it presses the leaves to the rim; for the picture a weaker one is
# given.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedLMNN, CurvedMDS
from cayleyklein.datasets import load_wine
from cayleyklein.plotting import MapDisplay

TREE = {
    "Indo-European": [
        "Germanic",
        "Italic",
        "Celtic",
        "Balto-Slavic",
        "Indo-Iranian",
        "Greek",
        "Armenian",
        "Albanian",
    ],
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
}

names = [*TREE, *(leaf for branch in TREE.values() for leaf in branch if leaf not in TREE)]
edges = np.array([(names.index(a), names.index(b)) for a, branch in TREE.items() for b in branch])
ones = np.ones(len(edges))
steps = shortest_path(coo_array((ones, edges.T), shape=(len(names),) * 2).tocsr(), directed=False)
branch_of = shortest_path(coo_array((ones, edges.T), shape=(len(names),) * 2).tocsr())
families = [name for name in TREE["Indo-European"] if name in TREE]
family = np.array(
    [
        next((f for f in families if np.isfinite(branch_of[names.index(f), i])), "others")
        for i in range(len(names))
    ]
)

figure, panels = plt.subplots(1, 2, figsize=(9, 5), layout="compressed")
pairs = len(names) * (len(names) - 1) / 2
for place, curvature in enumerate([-0.5, 0.0, "learned"]):
    mds = CurvedMDS(metric="precomputed", curvature=curvature, random_state=0).fit(steps)
    error = np.sqrt(mds.stress_ / pairs)
    print(f"K = {mds.curvature_:.2f}: distances are wrong by {error:.2f} steps")
    if curvature == "learned":
        continue
    ax = panels[place]
    MapDisplay.from_estimator(mds, family, edges=edges).plot(ax, legend=False, s=26)
    ax.set_title(f"({'ab'[place]}) {ax.get_title()}: errors of {error:.2f} steps", fontsize=10)
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)

# %%
# **A learned metric.** Wines, in the elliptic metric that a learner found for telling three
# cultivars apart by 13 columns. A sphere of the same curvature holds it almost exactly, each
# cultivar on an arc of a great circle; a flat map does not.

wine = load_wine()
X, y = StandardScaler().fit_transform(wine.data), wine.target_names[wine.target]
metric = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y).metric_
mds = CurvedMDS(metric=metric, random_state=0).fit(X)
flat = CurvedMDS(metric=metric, curvature=0.0).fit(X)
print(f"Wines: K = {mds.curvature_:.3f}, in the metric {metric.curvature:.3f}")
kruskal = [np.sqrt(2 * m.stress_ / np.square(m.distances_).sum()) for m in (mds, flat)]
print(f"Kruskal's stress {kruskal[0]:.4f}, in a flat map {kruskal[1]:.4f}")
ax = MapDisplay.from_estimator(mds, "cultivar " + y.astype(object)).plot().ax_
ax.set_title(f"wines by a learned metric: {ax.get_title()}", fontsize=10)
plt.show()
