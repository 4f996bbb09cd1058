"""
How many rows does it need?
===========================

Accuracy on test rows by the number of training rows: the default classifier, a random forest and
plain neighbours, on three tables. A learned metric gains much where combinations of columns count
(balance), a good deal once each class has some ten rows (vowel), and little where the columns have
one unit and plain neighbours do well (digits).
"""

# %%
# Every method sees the same training rows and is tested on 300 others, twice; curves are means.
# Neighbours get standardised columns, except pixels, which have one unit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier
from cayleyklein.datasets import load_balance, load_vowel

methods = {
    "cayleyklein, default": CurvedKNeighborsClassifier(random_state=0),
    "random forest": RandomForestClassifier(100, random_state=0),
    "k-NN (3)": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}
tables = {"balance": load_balance, "vowel": load_vowel, "digits": load_digits}
sizes = {"balance": (75, 150, 300), "vowel": (75, 150, 225), "digits": (75, 150, 300)}

figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.8), layout="constrained", sharey=True)
looks = [("#0072B2", "o-"), ("#E69F00", "s--"), ("0.45", "^:")]
for ax, (table, load) in zip(panels, tables.items(), strict=True):
    X, y = load(return_X_y=True)
    if table == "digits":
        methods["k-NN (3)"] = KNeighborsClassifier(3)
    orders = [np.random.default_rng(seed).permutation(len(X)) for seed in range(2)]
    for (name, method), (color, line) in zip(methods.items(), looks, strict=True):
        scores = [
            [method.fit(X[o[:n]], y[o[:n]]).score(X[o[-300:]], y[o[-300:]]) for n in sizes[table]]
            for o in orders
        ]
        curve = np.mean(scores, axis=0)
        print(f"{table:8} {name:21}", *(f"{score:.3f}" for score in curve))
        ax.plot(sizes[table], curve, line, color=color, label=name)
    ax.set_xscale("log")
    ax.set_xticks(sizes[table], sizes[table])
    ax.minorticks_off()
    ax.set(title=table, xlabel="training rows")
panels[0].set_ylabel("accuracy on test rows")
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
)
plt.show()
