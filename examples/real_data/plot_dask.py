"""
Dask: rows that are on a cluster
================================

Rows that do not fit in memory are given as Dask arrays or dataframes, to the same objects with the
same parameters. Here are the handwritten digits in chunks; the code would be the same for rows
that no one machine holds. It needs the extra ``scale``.
"""

# %%
# The metric is learned from a sample in memory.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import load_digits

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedNeighbors

digits = load_digits()
X, y = digits.data, digits.target
sample = np.random.default_rng(0).choice(1000, size=400, replace=False)
learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X[sample], y[sample])
print(learner.metric_)

# %%
# A Dask array is fitted chunk by chunk, where the chunks are: on the workers of the active client.
# Here that is a thread of this process; ``Client("tcp://scheduler:8786")`` is a cluster. A query
# in memory is answered in memory.

client = Client(processes=False, n_workers=1, dashboard_address=None)
rows = da.from_array(X[:1000], chunks=(250, 64))
search = CurvedNeighbors(5, metric=learner.metric_).fit(rows)
distances, neighbors = search.kneighbors(X[1000:1006])
in_memory = CurvedNeighbors(5, metric=learner.metric_).fit(X[:1000])
assert np.array_equal(neighbors, in_memory.kneighbors(X[1000:1006])[1])  # whatever the chunks

# %%
# Queries that are a Dask array are answered by a lazy one: nothing is computed until it is asked
# for.

model = CurvedKNeighborsClassifier(3, metric=learner.metric_).fit(rows, y[:1000])
said = model.predict(da.from_array(X[1000:], chunks=(200, 64)))
print(type(said).__module__, said.chunks)
print("accuracy", round(float((said.compute() == y[1000:]).mean()), 3))
client.close()

# %%
# Six queries, and their nearest rows of the whole.

figure, panels = plt.subplots(6, 6, figsize=(6, 6.4), layout="constrained")
for line, query, found, far in zip(panels, X[1000:1006], neighbors, distances, strict=True):
    line[0].imshow(query.reshape(8, 8), cmap="Blues")
    for ax, row, distance in zip(line[1:], found, far, strict=True):
        ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{distance:.2f}", fontsize=8)
for ax in panels.flat:
    ax.set_axis_off()
panels[0, 0].set_title("query", fontsize=8)
plt.show()
