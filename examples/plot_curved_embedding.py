"""
Which classifier suits an embedding that is curved already?
===========================================================

Poincaré vectors from geoopt, HypLL or gensim, often in float32, are coordinates of a hyperbolic
space. ``FromChart`` makes them coordinates in which geodesics are straight, and after it every
classifier is one line.
"""

# %%
# **A hierarchy.** 117 mammals with their families and orders, by the number of steps between them
# in the taxonomy, embedded in Poincaré's disc. Here CurvedMDS does it; the coordinates are then
# stored as another library would: Poincaré vectors in single precision.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedLinearSVC,
    CurvedMDS,
    CurvedMetric,
    FromChart,
)

TAXONOMY = {
    "Carnivora": {
        "Felidae": "lion tiger leopard jaguar cheetah lynx puma ocelot",
        "Canidae": "wolf coyote jackal fox dingo dhole",
        "Ursidae": "brown-bear polar-bear black-bear sloth-bear panda",
        "Mustelidae": "otter badger weasel marten wolverine mink",
        "Phocidae": "harbour-seal grey-seal elephant-seal monk-seal",
        "Hyaenidae": "spotted-hyena striped-hyena aardwolf",
    },
    "Primates": {
        "Hominidae": "human chimpanzee bonobo gorilla orangutan",
        "Hylobatidae": "lar-gibbon siamang hoolock",
        "Cercopithecidae": "baboon macaque mandrill vervet colobus langur",
        "Cebidae": "capuchin squirrel-monkey marmoset tamarin",
        "Lemuridae": "ring-tailed-lemur ruffed-lemur brown-lemur",
    },
    "Artiodactyla": {
        "Bovidae": "cattle bison buffalo sheep goat gazelle impala wildebeest oryx",
        "Cervidae": "red-deer elk moose reindeer roe-deer",
        "Suidae": "wild-boar warthog babirusa",
        "Camelidae": "camel dromedary llama alpaca",
        "Delphinidae": "dolphin orca pilot-whale",
        "Balaenopteridae": "blue-whale fin-whale humpback minke",
    },
    "Rodentia": {
        "Muridae": "mouse rat gerbil",
        "Cricetidae": "hamster vole lemming muskrat",
        "Sciuridae": "squirrel chipmunk marmot prairie-dog",
        "Caviidae": "guinea-pig capybara mara",
        "Hystricidae": "crested-porcupine brush-tailed-porcupine long-tailed-porcupine",
    },
    "Chiroptera": {
        "Pteropodidae": "flying-fox fruit-bat hammer-headed-bat",
        "Vespertilionidae": "pipistrelle noctule serotine",
        "Phyllostomidae": "vampire-bat spear-nosed-bat leaf-nosed-bat",
    },
    "Diprotodontia": {
        "Macropodidae": "red-kangaroo wallaby wallaroo quokka",
        "Phalangeridae": "brushtail-possum cuscus ground-cuscus",
        "Vombatidae": "common-wombat hairy-nosed-wombat southern-wombat",
    },
}

parents, orders = [-1], [""]  # of each node of the tree; the root is Mammalia
for order, families in TAXONOMY.items():
    at_order = len(parents)
    parents.append(0)
    orders.append(order)
    for species in families.values():
        members = species.split()
        parents += [at_order, *[len(parents)] * len(members)]
        orders += [order] * (1 + len(members))
edges = np.column_stack([parents, range(len(parents))])[1:]
ones = np.ones(len(edges))
tree = coo_array((ones, edges.T), shape=(len(parents),) * 2).tocsr()
steps = shortest_path(tree, directed=False)
y = np.array(orders[1:])


def embed(seed):
    """Return vectors of Poincaré's disc, K = -1, in float32; the root is left out."""
    mds = CurvedMDS(metric="precomputed", curvature=-0.5, random_state=seed).fit(steps)
    return mds.metric_.to_chart(mds.embedding_, "poincare").astype(np.float32)[1:]


# %%
# **Classified.** The order of species and families, a third of them held out at a time, in four
# embeddings. "Raw" takes Poincaré's coordinates for Euclidean ones.

disc = CurvedMetric.euclidean(2, curvature=-1.0)
chart = FromChart("poincare")
forest = RandomForestClassifier(50, random_state=0)
models = {
    "neighbours": make_pipeline(chart, CurvedKNeighborsClassifier(metric=disc, n_neighbors=3)),
    "neighbours, raw": KNeighborsClassifier(3),
    "kernel": make_pipeline(chart, CurvedKernelClassifier("metric", metric=disc, random_state=0)),
    "linear machine": make_pipeline(chart, CurvedLinearSVC(disc, C=10.0)),
    "linear machine, raw": CurvedLinearSVC(CurvedMetric.euclidean(2), C=10.0),
    "forest": make_pipeline(chart, forest),
    "forest, raw": forest,
}
scores = {name: [] for name in models}
for seed in range(4):
    X, folds = embed(seed), StratifiedKFold(3, shuffle=True, random_state=seed)
    for name, model in models.items():
        scores[name].append(cross_val_score(model, X, y, cv=folds).mean())
for name, values in scores.items():
    print(f"{name:20} {np.mean(values):.3f}")

# %%
# - *Linear machine:* the hyperplanes of hyperbolic space are arcs in Poincaré's disc; the straight
#   lines of a flat machine there are not hyperplanes.
# - *Forest:* a tree cuts where a coordinate exceeds a threshold. In Klein's coordinates every such
#   cut is a hyperplane of the space, and the forest is that of Chlenski and Pe'er (Fast-HyperDT,
#   arXiv 2506.04360), except that they put a threshold half way between two rows in the metric,
#   scikit-learn half way between their coordinates. In raw coordinates the cuts are not
#   hyperplanes. For classes that differ in direction, as here, both are equally good. Where classes
#   differ in their distance from the centre, raw coordinates win by 7 to 12 points
#   (``benchmarks/bench_charts.py``): a hyperplane near the rim cuts off only a small cap.
#   scikit-learn's trees also round to float32, which leaves Klein's coordinates no digits beyond
#   radius 8. Try both.
# - *Neighbours:* every way from one branch to another leads past the middle, so that nodes near the
#   root are close to all branches. That is what the taxonomy says, and it misleads votes: in raw
#   coordinates, where directions count more, they are better.

panels = {
    "linear machine": models["linear machine"],
    "forest": models["forest"],
    "forest, raw": models["forest, raw"],
}
X = embed(0)
plane = np.stack(np.meshgrid(*[np.linspace(-1, 1, 500)] * 2), axis=-1)
inside = np.linalg.norm(plane, axis=-1) < 0.999
names, codes = np.unique(y, return_inverse=True)
colors = plt.get_cmap("tab10")
figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), layout="constrained")
for ax, (title, model) in zip(axes, panels.items(), strict=True):
    regions = np.full(inside.shape, np.nan)
    regions[inside] = np.searchsorted(names, model.fit(X, y).predict(plane[inside]))
    ax.imshow(
        regions,
        cmap=colors,
        vmin=0,
        vmax=9,
        alpha=0.35,
        extent=(-1, 1, -1, 1),
        origin="lower",
        interpolation="nearest",
    )
    for code, name in enumerate(names):
        ax.scatter(
            *X[codes == code].T,
            s=12,
            color=colors(code),
            edgecolor="black",
            linewidth=0.4,
            label=name,
        )
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, linewidth=2))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"{title}: {np.mean(scores[title]):.3f}", fontsize=11)
    ax.axis("off")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
plt.show()

# %%
# **Without it.** With geoopt, neighbours are the matrix of all distances,
# ``geoopt.PoincareBall().dist(X[:, None], X[None])``, and scikit-learn's
# ``KNeighborsClassifier(metric="precomputed")``, with other blocks of that matrix in every fold. A
# linear machine is a loss of one's own under ``geoopt.optim.RiemannianAdam``, a forest another
# package. geomstats has neighbours and means, HypLL layers of networks, manify's wheel manifolds
# only. How many digits their distances have is in
# :doc:`Coming from other libraries </coming-from>`.
