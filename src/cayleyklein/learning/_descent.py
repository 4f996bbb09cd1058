"""One metric from one start: L-BFGS over (L, μ, K), impostors found anew every few iterations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Rows, TrainingRows, weighted_mean
from cayleyklein.learning._lbfgs import LBFGS
from cayleyklein.learning._posed import Posed

__all__ = ["Descent", "Progress", "Recipe", "Variables"]

Array = NDArray[np.float64]

PAIR_BYTES = 96
"""Memory a pair takes while it is found and used."""

HYPERBOLIC_REACH = 0.95
"""Largest √-K‖z‖ of a row at a hyperbolic start."""


@dataclass(frozen=True)
class Recipe:
    """What a fit minimises, and from where.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}
    margin : float
        In units of φ(d), at |K| = 1.
    squared : bool
        φ(d) = d², not d.
    init : str
    radius : float or None
        Root mean square of ‖z‖ at the start; None leaves the start's own scale.
    max_iter : int
        Iterations of the first pass, twice those of a later one. Few of them regularise.
    n_passes : int
    n_targets : int
    push : float, default=0.5
    """

    geometry: str
    margin: float
    squared: bool
    init: str
    radius: float | None
    max_iter: int
    n_passes: int
    n_targets: int
    push: float = 0.5

    @property
    def curvature(self) -> float:
        """K at the start."""
        return {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0, "learned": 0.1}[self.geometry]


class Progress(NamedTuple):
    """What a callback is told each iteration; the frame is for rows as they were given.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> losses = []
    >>> def watch(progress):
    ...     losses.append(progress.loss)
    >>> learner = CurvedLMNN(geometry="elliptic", n_init=1, callback=watch).fit(X, y)
    >>> losses[-1] < losses[0]
    True
    """

    iteration: int
    loss: float
    n_active: int
    curvature: float
    frame: Frame


class Point(NamedTuple):
    """The loss at one vector of variables, and its gradient in them."""

    loss: float
    vector: Array
    n_active: int


class Variables:
    """The parameters of a geometry as one vector, and back."""

    def __init__(self, geometry: str, factor: Array, center: Array, curvature: float) -> None:
        self.curved, self.learned = geometry != "flat", geometry == "learned"
        self.shape, self.center, self.curvature = factor.shape, center, curvature

    def pack(self, factor: Array, center: Array, curvature: float) -> Array:
        """Return the vector of what is free: L, μ (not flat), K (learned)."""
        parts = [factor.ravel()]
        if self.curved:
            parts.append(center)
        if self.learned:
            parts.append(np.array([curvature]))
        return np.concatenate(parts)

    def unpack(self, x: Array) -> tuple[Array, Array, float]:
        """Return L, μ and K."""
        r, d = self.shape
        center = x[r * d : r * d + d] if self.curved else self.center
        return x[: r * d].reshape(r, d), center, float(x[-1]) if self.learned else self.curvature

    def frame(self, x: Array) -> Frame:
        """Return the frame of a vector."""
        factor, center, curvature = self.unpack(x)
        return Frame(factor, center=center, curvature=curvature)


@dataclass
class Descent:
    """A fit that can be advanced pass by pass.

    Parameters
    ----------
    data : Rows
    recipe : Recipe
    factor : ndarray of shape (r, d)
        Start of L.
    center : ndarray of shape (d,), optional
        Start of μ; the weighted mean by default.
    curvature : float, optional
        Start of K.
    continues : bool, default=False
        The start is a learned metric: the first targets are chosen under it, not under the
        standardised columns.
    """

    data: Rows
    recipe: Recipe
    factor: Array
    center: Array | None = None
    curvature: float | None = None
    continues: bool = False
    tol: float = 1e-5
    impostor_interval: int = 10
    max_impostors: int | None = 50
    memory_budget: float = 1e9
    pool: Threads | None = None
    callback: Callable[[Progress], bool | None] | None = None

    loss_history: list[float] = field(default_factory=list, init=False)
    n_iter: int = field(default=0, init=False)
    converged: bool = field(default=False, init=False)
    stopped: bool = field(default=False, init=False)
    budget_bitten: bool = field(default=False, init=False)
    _passes_made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        data, recipe = self.data, self.recipe
        curvature = recipe.curvature if self.curvature is None else self.curvature
        center = weighted_mean(data) if self.center is None else self.center
        factor = self.factor
        if curvature < 0:
            reach = np.sqrt(-curvature * max(data.each(farthest_square, factor, center)))
            factor = factor * min(1.0, HYPERBOLIC_REACH / max(reach, np.finfo(float).tiny))
        self._variables = Variables(recipe.geometry, factor, center, curvature)
        self._solver = LBFGS(self._variables.pack(factor, center, curvature))
        if self.continues:
            self.target_frame = self.frame
        else:
            self.target_frame = Frame(np.eye(data.n_columns))

    @property
    def frame(self) -> Frame:
        """The metric so far, for standardised rows."""
        return self._variables.frame(self._solver.x)

    def run(self) -> "Descent":
        """Run all the passes."""
        for _ in range(self.recipe.n_passes):
            if not self.stopped:
                self.advance()
        return self

    def advance(self) -> Frame:
        """Choose targets, minimise, and return the metric: one pass.

        Targets are chosen under `target_frame` first, under the metric itself later.
        """
        data, recipe = self.data, self.recipe
        posed = data.pose(
            recipe.n_targets, self.target_frame, recipe.margin, recipe.push, recipe.squared
        )
        solver = self._solver
        solver.pairs.clear()
        iterations = recipe.max_iter if self._passes_made == 0 else max(1, recipe.max_iter // 2)
        self._passes_made += 1
        self.converged = False
        age, doubt = self.impostor_interval, False
        for _ in range(iterations):
            if age == self.impostor_interval or doubt:
                evaluate = self._evaluator(posed)
                state = evaluate(solver.x)
                age = 0
            before = state.loss
            moved = solver.step(evaluate, state)
            state = state if moved is None else moved
            stands = before - state.loss <= self.tol * max(abs(before), np.finfo(float).tiny)
            if moved is not None:
                self.n_iter += 1
                self.loss_history.append(state.loss)
                if self._report(state):
                    self.stopped = True
                    break
            if stands and age == 0:  # with impostors found just now
                self.converged = True
                break
            doubt = stands  # find impostors once more before believing it
            age += 1
        self.target_frame = self.frame
        return self.frame

    def _evaluator(self, posed: Posed) -> Callable[[Array], Point]:
        """Look for impostors under the current metric and return the loss over them."""
        affordable = max(1, int(self.memory_budget / PAIR_BYTES / len(self.data)))
        wanted = affordable if self.max_impostors is None else min(self.max_impostors, affordable)
        loss, crowded = posed.link(self.frame, wanted, self.pool)
        self.budget_bitten |= crowded and wanted == affordable != self.max_impostors

        def evaluate(x: Array) -> Point:
            found = loss(*self._variables.unpack(x), bends=self._variables.learned)
            free = self._variables.pack(found.factor, found.center, found.curvature)
            return Point(found.loss, free, found.n_active)

        return evaluate

    def _report(self, state: Point) -> bool:
        if self.callback is None:
            return False
        frame = self.frame
        raw = self.data.to_raw(frame)
        told = Progress(self.n_iter, state.loss, state.n_active, frame.curvature, raw)
        return bool(self.callback(told))


def farthest_square(rows: TrainingRows, factor: Array, center: Array) -> float:
    """Return the largest ‖L(x - μ)‖² of rows."""
    z = (rows.X - center) @ factor.T
    return float((z * z).sum(axis=1).max())
