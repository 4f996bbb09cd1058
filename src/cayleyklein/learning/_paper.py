"""The paper's own solver, for comparison (its §4.2 and §4.3).

Gradient descent on the (d+1)×(d+1) factor L̃ of S = L̃ᵀDL̃, D = I (elliptic) or
diag(-1, …, -1, c) (hyperbolic), or on L (flat): the step γ is halved when it leaves the domain,
and grows by one per cent when it does not; impostors are found anew every few iterations. All
impostors count that memory holds. A step after which S has no metric (no ellipsoid for a
hyperbolic domain, or a cone) counts as leaving. The corrections of the gradient's sign
(hyperbolic) and of the step (L, not ε) are followed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Frame, frame_from_form
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._descent import PAIR_BYTES, Progress, Recipe
from cayleyklein.learning._loss import DOMAIN_EDGE, Links, Problem, loss_and_gradient
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

    The losses of two iterates compare only where impostors were found just before both: the metric
    that a fit returns is the best of those iterates and of the last one, for which impostors are
    found once more.

    Parameters
    ----------
    data : TrainingRows
    recipe : Recipe
        Its init "diagonal" starts about the origin of the raw rows, L̃ = diag(L', 1) there; any
        other about their mean (the paper's G₊ and G₋).
    factor : ndarray of shape (r, d)
        L' of the start. A curved geometry needs one of rank d.
    learning_rate : float, optional
        The first γ; by default a step of one hundredth of L̃.
    tol : float
        Relative change of the loss at which a fit ends.
    impostor_interval : int
        Iterations after which impostors are found anew.
    callback : callable, optional
        Told a :class:`Progress` of each iterate before it moves; a true answer stops the fit.
    start : Frame, optional
        A metric for standardised rows that the fit goes on from. Where its geometry is another one,
        or rows are outside its domain, the fit starts from `factor` about the mean.
    memory_budget : float
        Bytes that impostor pairs may take. `budget_bitten` says that rows kept only their nearest.

    Attributes
    ----------
    loss_history : list of float
        The loss at the beginning of each iteration, and after the last step.
    n_iter : int
    converged : bool
        The loss stood still, also with impostors found anew. Not where it did because the last
        step was halved: that is the wall of the domain, no minimum.
    stopped : bool
        By the callback.
    budget_bitten : bool
    """

    data: TrainingRows
    recipe: Recipe
    factor: Array
    learning_rate: float | None = None
    tol: float = 1e-5
    impostor_interval: int = 10
    callback: Callable[[Progress], bool | None] | None = None
    start: Frame | None = None
    memory_budget: float = 1e9

    loss_history: list[float] = field(default_factory=list, init=False)
    n_iter: int = field(default=0, init=False)
    converged: bool = field(default=False, init=False)
    stopped: bool = field(default=False, init=False)
    budget_bitten: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        # A constant column weighs nothing: L̃ of a curved geometry has none, and stays invertible.
        self._varies = np.isfinite(self.data.scale)
        if self.recipe.geometry == "flat" or not self._varies.any():
            self._varies = np.ones(self.data.X.shape[1], dtype=bool)
        self._X = self.data.X[:, self._varies]
        self._homogeneous = np.column_stack([self._X, np.ones(len(self._X))])
        if not self._begin_at_start():
            self._begin_at_factor()
        self._best: tuple[float, Array] = (np.inf, self._matrix)

    # -- where it starts ------------------------------------------------------------

    def _begin_at_start(self) -> bool:
        """Take L̃ from a given metric with c = 1; False where there is none that fits."""
        if self.start is None or self.start.geometry != self.recipe.geometry:
            return False
        unit = np.sqrt(abs(self.start.curvature)) if self.start.curvature else 1.0
        self._c = 1.0
        self._matrix = self._bordered(unit * self.start.factor, self.start.center)
        return self._frame(self._matrix) is not None

    def _begin_at_factor(self) -> None:
        """Take L̃ from L' and a centre, and c so that all rows are inside."""
        data = self.data
        if self.recipe.init == "diagonal" and self.start is None:
            center = -data.mean / data.scale  # the raw origin; 0 for a constant column
        else:
            center = np.average(data.X, axis=0, weights=data.weights)
        self._matrix = self._bordered(self.factor, center)
        self._c = 1.0
        if self.recipe.geometry == "hyperbolic":
            y, _ = self._coordinates(self._matrix)
            farthest = float((y * y).sum(axis=1).max())
            self._c = KAPPA * farthest if farthest > 0 else 1.0
        if self._frame(self._matrix) is None:
            raise InvalidInputError(
                f"The start init={self.recipe.init!r} is no {self.recipe.geometry} metric to "
                f"rounding: its factor is too ill-conditioned, or the rows are too far from its "
                f'centre. Take init="precision", or solver="lbfgs".'
            )

    def _bordered(self, factor: Array, center: Array) -> Array:
        """Return [[L', -L'μ], [0, 1]] on the columns that vary."""
        factor, center = factor[:, self._varies], center[self._varies]
        r, d = factor.shape
        if self.recipe.geometry == "flat":  # where a centre means nothing
            center = np.zeros(d)
        else:
            rank = int(np.linalg.matrix_rank(factor))
            if r < len(self._varies) or rank < d:
                raise InvalidInputError(
                    f'solver="gradient" fits square factors of full rank only where geometry is '
                    f"{self.recipe.geometry!r}; got a start of shape {(r, len(self._varies))} and "
                    f'rank {rank}. Leave n_components=None, or take geometry="flat" or '
                    f'solver="lbfgs".'
                )
            if r > d:  # the same Σ = LᵀL
                factor = np.linalg.qr(factor)[1]
        border = np.append(np.zeros(d), 1.0)
        return np.vstack([np.column_stack([factor, -factor @ center]), border])

    # -- from L̃ to a metric ---------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The metric of least loss among those that impostors were found under, standardised."""
        return self._inside(self._best[1])

    def _inside(self, matrix: Array) -> Frame:
        """Return the frame of an L̃ that was accepted."""
        found = self._frame(matrix)
        assert found is not None
        return found

    def _frame(self, matrix: Array) -> Frame | None:
        """Return the frame of L̃ with |K| = 1, or None outside the domain."""
        with np.errstate(over="ignore", invalid="ignore"):
            sign = {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0}[self.recipe.geometry]
            signs = np.append(np.ones(len(matrix) - 1), sign * self._c)
            S = (matrix.T * signs) @ matrix
        if not np.isfinite(S).all():
            return None
        if sign == 0:
            return Frame(matrix[:-1, :-1])
        if sign < 0:
            y, w = self._coordinates(matrix)
            if w.min() <= 0 or np.linalg.eigvalsh(S[:-1, :-1])[0] <= 0:
                return None
            if (1 - (y * y).sum(axis=1) / (self._c * w * w)).min() <= DOMAIN_EDGE:
                return None
        try:
            found = frame_from_form(S)
        except NotRepresentableError:
            return None
        d = len(self._varies)
        factor, center = np.zeros((d, d)), np.zeros(d)
        root = np.sqrt(abs(found.curvature)) * found.factor
        factor[np.ix_(self._varies, self._varies)] = root
        center[self._varies] = found.center
        frame = Frame(factor, center=center, curvature=sign)
        inside = frame.form_values(self.data.X) > 0
        return frame if inside.all() else None

    def _coordinates(self, matrix: Array) -> tuple[Array, Array]:
        image = self._homogeneous @ matrix.T
        return image[:, :-1], image[:, -1]

    # -- the descent ----------------------------------------------------------------

    def run(self) -> "PaperDescent":
        """Descend for `max_iter` iterations, or until the loss stands still."""
        data, recipe = self.data, self.recipe
        targets = find_targets(
            data.X, data.labels, recipe.n_targets, Frame(np.eye(data.X.shape[1]))
        )
        problem = Problem(data.X, targets, data.weights, recipe.margin, recipe.push, recipe.squared)
        gamma, before = self.learning_rate, np.inf
        moved = fresh = halved = False
        for iteration in range(recipe.max_iter):
            fresh = iteration % self.impostor_interval == 0
            if fresh:
                links = self._links(problem)
            loss, n_active, gradient = self._evaluate(problem, links, fresh)
            if not fresh and self._stands(before, loss, gradient):
                # With impostors found anew, before believing it.
                links, fresh = self._links(problem), True
                loss, n_active, gradient = self._evaluate(problem, links, fresh)
            self.loss_history.append(loss)
            self.n_iter += 1
            moved = False
            if self._report(loss, n_active):
                self.stopped = True
                break
            if self._stands(before, loss, gradient):
                self.converged = not halved
                break
            before = loss
            if gamma is None:
                size = float(np.linalg.norm(self._matrix) / np.linalg.norm(gradient))
                gamma = FIRST_STEP * size
            tried, (gamma, moved) = gamma, self._step(gamma, gradient)
            halved = gamma < tried
            if not moved:
                break
        if moved or not fresh:
            last, *_ = self._evaluate(problem, self._links(problem), True)
            if moved:
                self.loss_history.append(last)
        return self

    def _stands(self, before: float, loss: float, gradient: Array) -> bool:
        return not gradient.any() or abs(before - loss) <= self.tol * abs(loss)

    def _links(self, problem: Problem) -> Links:
        """Find the impostors under L̃."""
        frame = self._inside(self._matrix)
        reach = radii(problem.targets, problem.X, frame, problem.margin, problem.squared)
        affordable = max(1, int(self.memory_budget / PAIR_BYTES / len(problem.X)))
        pairs, crowded = find_impostors(problem.X, self.data.labels, reach, frame, affordable)
        self.budget_bitten |= crowded
        return Links.of(problem.targets, pairs)

    def _evaluate(self, problem: Problem, links: Links, fresh: bool) -> tuple[float, int, Array]:
        """Return what `_gradient` does, and remember L̃ if it is the best with fresh impostors."""
        if self.recipe.geometry == "elliptic":  # S = L̃ᵀL̃ and its gradient do not change with Q
            self._matrix = np.linalg.qr(self._matrix)[1]
            self._matrix *= np.sign(self._matrix[-1, -1])
        found = self._gradient(problem, links)
        if fresh and found[0] < self._best[0]:
            self._best = found[0], self._matrix
        return found

    def _gradient(self, problem: Problem, links: Links) -> tuple[float, int, Array]:
        """Return the loss, its violated triplets, and its gradient in L̃, at z = y/(√c w)."""
        y, w = self._coordinates(self._matrix)
        if self.recipe.geometry == "flat":
            w = np.ones_like(w)
        z = y / (np.sqrt(self._c) * w[:, None])
        inner = Problem(
            z, problem.targets, problem.weights, problem.margin, problem.push, problem.squared
        )
        found = loss_and_gradient(
            inner, links, np.eye(z.shape[1]), np.zeros(z.shape[1]), self.recipe.curvature
        )
        by_y = found.rows / (np.sqrt(self._c) * w[:, None])
        by_w = -np.einsum("ij,ij->i", found.rows, z) / w
        gradient = np.column_stack([by_y, by_w]).T @ self._homogeneous
        if self.recipe.geometry == "flat":
            gradient[-1] = 0.0
            gradient[:, -1] = 0.0
        return found.loss, found.n_active, gradient

    def _report(self, loss: float, n_active: int) -> bool:
        """Tell the callback the loss and the metric of the present iterate."""
        if self.callback is None:
            return False
        frame = self.data.to_raw(self._inside(self._matrix))
        told = Progress(self.n_iter, loss, n_active, frame.curvature, frame)
        return bool(self.callback(told))

    def _step(self, gamma: float, gradient: Array) -> tuple[float, bool]:
        """Move L̃, halving γ until the rows are inside; return the next γ and whether it moved."""
        for _ in range(MOST_HALVINGS):
            matrix = self._matrix - gamma * gradient
            if self._frame(matrix) is not None:
                self._matrix = matrix
                return gamma * GROWTH, True
            gamma /= 2
        return gamma, False
