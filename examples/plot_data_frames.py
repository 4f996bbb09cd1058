"""
How do I use pandas or polars?
==============================

Data frames go in as they are. Columns are remembered by name, transformers answer in frames when
asked to, and a table with text and holes has a classifier of its own.
"""

# %%
# A pandas frame. The fitted model knows the names of its columns, and refuses a table
# that has them in another order.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.datasets import load_wine
from cayleyklein.tables import TableClassifier

frame = load_wine(as_frame=True).frame
rows, cultivar = frame.drop(columns="class"), frame["class"]
model = CurvedKNeighborsClassifier(geometry="elliptic", random_state=0)
model.fit(rows[::2], cultivar[::2])
print(model.feature_names_in_[:3], round(model.score(rows[1::2], cultivar[1::2]), 3))
try:
    model.predict(rows[rows.columns[::-1]])
except ValueError as error:
    print(str(error).splitlines()[0])

# %%
# A polars frame works in the same way, and gives the same answers.

table = pl.from_pandas(rows)
assert (model.predict(table) == model.predict(rows)).all()

# %%
# A learner maps rows to coordinates in which Euclidean distance has the order of its metric; with
# ``set_output`` they come as a frame.

learner = CurvedLMNN(geometry="flat", n_components=2, random_state=0)
placed = learner.set_output(transform="polars").fit(table, cultivar).transform(table)
print(placed.head(3))

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
looks = zip(["#D55E00", "#0072B2", "#009E73"], "os^", strict=True)
for number, (color, marker) in enumerate(looks):
    some = placed.to_numpy()[cultivar == number]
    ax.scatter(*some.T, color=color, marker=marker, s=18, label=f"cultivar {number + 1}")
ax.set(xlabel=placed.columns[0], ylabel=placed.columns[1], aspect="equal")
ax.set_title("13 columns in the two that matter")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()

# %%
# Text and missing values need a decision for each column. ``TableClassifier`` takes it, as the
# command does, and says which.

odd = rows[["flavanoids", "color_intensity", "proline"]].copy()
odd["strength"] = pd.cut(frame["alcohol"], 3, labels=["light", "middle", "strong"]).astype(str)
odd.loc[odd.index[::10], "proline"] = np.nan
whole = TableClassifier(geometry="elliptic").fit(odd[::2], cultivar[::2].astype(str))
print(*whole.encoder_.columns_, sep="\n")
print("accuracy", round(whole.score(odd[1::2], cultivar[1::2].astype(str)), 3))
