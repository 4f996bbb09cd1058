"""The paper's own solver, for comparison (its §4.2 and §4.3).

Gradient descent on the (d+1)×(d+1) factor L̃ of S = L̃ᵀDL̃, D = I (elliptic) or
diag(-1, …, -1, c) (hyperbolic), or on L (flat): the step γ is halved when it leaves the domain,
and grows by one per cent when it does not; impostors are found anew every few iterations. All
impostors count. A hyperbolic step after which S has no ellipsoid for a domain counts as leaving.
The corrections of the gradient's sign (hyperbolic) and of the step (L, not ε) are followed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame, frame_from_form
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._descent import Progress, Recipe
from cayleyklein.learning._loss import Pairs, Problem, loss_and_gradient
from cayleyklein.learning._search import find_impostors, find_targets, radii

__all__ = ["PaperDescent"]

Array = NDArray[np.float64]

GROWTH = 1.01
MOST_HALVINGS = 60
FIRST_STEP = 0.01
"""Length of the first step relative to L̃, where no learning rate is given."""

KAPPA = 2.0
"""The κ > 1 of the hyperbolic starts: the farthest row is at 1/√κ of the boundary's radius."""


@dataclass
class PaperDescent:
    """One fit by the paper's method.

    Parameters
    ----------
    data : TrainingRows
    recipe : Recipe
    factor : ndarray of shape (d, d)
        L' of the start: G₊ or G₋ around the mean, or for init "diagonal" the paper's
        diag(-1, …, -1, κ max‖L'x‖²).
    """

    data: TrainingRows
    recipe: Recipe
    factor: Array
    learning_rate: float | None = None
    tol: float = 1e-5
    impostor_interval: int = 10
    callback: Callable[[Progress], bool | None] | None = None

    loss_history: list[float] = field(default_factory=list, init=False)
    n_iter: int = field(default=0, init=False)
    converged: bool = field(default=False, init=False)
    stopped: bool = field(default=False, init=False)
    budget_bitten: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        X, d = self.data.X, self.factor.shape[1]
        self._homogeneous = np.column_stack([X, np.ones(len(X))])
        mean = np.average(X, axis=0, weights=self.data.weights)
        if self.recipe.init == "diagonal":
            mean = np.zeros(d)
        last = -self.factor @ mean
        self._matrix = np.block([[self.factor, last[:, None]], [np.zeros((1, d)), np.ones((1, 1))]])
        farthest = float((((X - mean) @ self.factor.T) ** 2).sum(axis=1).max())
        self._c = KAPPA * farthest if self.recipe.geometry == "hyperbolic" else 1.0
        self._best: tuple[float, Array] = (np.inf, self._matrix)

    @property
    def frame(self) -> Frame:
        """The metric of least loss so far, for standardised rows."""
        found = self._frame(self._best[1])
        assert found is not None
        return found

    def _frame(self, matrix: Array) -> Frame | None:
        """Return the frame of L̃ with |K| = 1, or None outside the domain."""
        d = self.data.X.shape[1]
        if self.recipe.geometry == "flat":
            return Frame(matrix[:-1, :-1])
        sign = 1.0 if self.recipe.geometry == "elliptic" else -1.0
        signs = np.append(np.ones(len(matrix) - 1), sign * self._c)
        S = (matrix.T * signs) @ matrix
        if sign < 0:
            y, w = self._coordinates(matrix)
            definite = np.linalg.eigvalsh(S[:d, :d])[0] > 0
            if not definite or w.min() <= 0 or (self._c * w * w - (y * y).sum(axis=1)).min() <= 0:
                return None
        frame = frame_from_form(S)
        unit = np.sqrt(abs(frame.curvature))
        return Frame(unit * frame.factor, center=frame.center, curvature=np.sign(frame.curvature))

    def _coordinates(self, matrix: Array) -> tuple[Array, Array]:
        image = self._homogeneous @ matrix.T
        return image[:, :-1], image[:, -1]

    def run(self) -> "PaperDescent":
        """Descend for `max_iter` iterations, or until the loss stands still."""
        data, recipe = self.data, self.recipe
        targets = find_targets(
            data.X, data.labels, recipe.n_targets, Frame(np.eye(data.X.shape[1]))
        )
        problem = Problem(data.X, targets, data.weights, recipe.margin, recipe.push, recipe.squared)
        gamma, before = self.learning_rate, np.inf
        for iteration in range(recipe.max_iter):
            if recipe.geometry == "elliptic":  # S = L̃ᵀL̃ and its gradient do not change with Q
                self._matrix = np.linalg.qr(self._matrix)[1]
                self._matrix *= np.sign(self._matrix[-1, -1])
            if iteration % self.impostor_interval == 0:
                frame = self._frame(self._matrix)
                assert frame is not None
                reach = radii(targets, data.X, frame, recipe.margin, recipe.squared)
                pairs, _ = find_impostors(data.X, data.labels, reach, frame)
            loss, n_active, gradient = self._gradient(problem, pairs)
            if loss < self._best[0]:
                self._best = loss, self._matrix
            self.loss_history.append(loss)
            self.n_iter += 1
            size = float(np.linalg.norm(gradient))
            if size == 0 or abs(before - loss) <= self.tol * abs(loss):
                self.converged = True
                break
            before = loss
            if gamma is None:
                gamma = FIRST_STEP * float(np.linalg.norm(self._matrix)) / size
            gamma = self._step(gamma, gradient)
            if self.callback is not None:
                curvature = recipe.curvature
                if self.callback(Progress(self.n_iter, loss, n_active, curvature, self.frame)):
                    self.stopped = True
                    break
        return self

    def _gradient(self, problem: Problem, pairs: Pairs) -> tuple[float, int, Array]:
        """Return the loss, its violated triplets, and its gradient in L̃, at z = y/(√c w)."""
        y, w = self._coordinates(self._matrix)
        if self.recipe.geometry == "flat":
            w = np.ones_like(w)
        z = y / (np.sqrt(self._c) * w[:, None])
        inner = Problem(
            z, problem.targets, problem.weights, problem.margin, problem.push, problem.squared
        )
        found = loss_and_gradient(
            inner, pairs, np.eye(z.shape[1]), np.zeros(z.shape[1]), self.recipe.curvature
        )
        by_y = found.rows / (np.sqrt(self._c) * w[:, None])
        by_w = -np.einsum("ij,ij->i", found.rows, z) / w
        gradient = np.column_stack([by_y, by_w]).T @ self._homogeneous
        if self.recipe.geometry == "flat":
            gradient[-1] = 0.0
            gradient[:, -1] = 0.0
        return found.loss, found.n_active, gradient

    def _step(self, gamma: float, gradient: Array) -> float:
        """Move L̃, halving γ until the rows are inside; return the next γ."""
        for _ in range(MOST_HALVINGS):
            matrix = self._matrix - gamma * gradient
            if self._frame(matrix) is not None:
                self._matrix = matrix
                return gamma * GROWTH
            gamma /= 2
        self.converged = True
        return gamma
