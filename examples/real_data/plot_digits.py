"""
Digits: where nothing needs to be learned
=========================================

Images of handwritten digits, 8 × 8 pixels. Pixels share one unit, and Euclidean neighbours are
already very good. Held-out rows say how little there is to gain.
"""

# %%
# 600 images train, the others test.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from cayleyklein import CurvedKNeighborsClassifier

digits = load_digits()
X, X_test, y, y_test = train_test_split(
    digits.data, digits.target, train_size=600, random_state=0, stratify=digits.target
)
plain = KNeighborsClassifier(3).fit(X, y)
model = CurvedKNeighborsClassifier(random_state=0).fit(X, y)
print("Euclidean", round(plain.score(X_test, y_test), 4))
print("learned  ", round(model.score(X_test, y_test), 4))

# %%
# ``selection_`` has what held-out rows said: the product has slightly better probabilities (log
# loss), plain Euclidean neighbours, in the last line, slightly more right answers. When that is so,
# take them: they are simpler, and nothing has to be learned again when rows come in.

print(model.learner_.selection_)

# %%
# The rows that the two disagree on, with what each of them says.

said, plainly = model.predict(X_test), plain.predict(X_test)
differ = np.flatnonzero(said != plainly)
print(f"{len(differ)} of {len(X_test)} answers differ")
figure, panels = plt.subplots(2, 6, figsize=(9, 3.8), layout="constrained")
for ax, row in zip(panels.flat, differ, strict=False):
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"is {y_test[row]}\nlearned {said[row]}, plain {plainly[row]}", fontsize=8)
for ax in panels.flat:
    ax.set_axis_off()
plt.show()
