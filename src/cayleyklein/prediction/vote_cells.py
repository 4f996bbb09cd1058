"""The nearest row whose k nearest places vote for a class, by branch and bound.

In every curvature a row x is nearer to the place p the larger an affine function f_p(x) is (section
3 of the paper, `geometry/bisectors.py`). That p is among the k nearest and q is not, means
f_p(x) ≥ f_q(x): the rows with the same k nearest places are a polyhedron, a cell of order k.

The search decides place by place whether it is among the k nearest. What is decided are linear
constraints, the nearest row that fulfils them is a quadratic program, and its distance bounds all
cells that agree with what is decided. The case with the least bound is taken first, so the first
row that has the class is the nearest one.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.neighbors.search import slices

MOST_PROGRAMS = 8000  # a search that has solved so many quadratic programs is given up
VOTE_ROUNDING = 1e-9  # of votes, which are sums in any order


@dataclass(frozen=True)
class Voters:
    """Places that vote.

    Attributes
    ----------
    normals, offsets : ndarray of shape (p, d), (p,)
        The affine functions of the places: the largest is that of the nearest place.
    votes : ndarray of shape (p, C)
        The vote of each place for each class.
    k : int
        Number of places that vote for a row.
    prior : ndarray of shape (C,)
        Shares of the classes, by which equally near votes are decided.
    """

    normals: Floats
    offsets: Floats
    votes: Floats
    k: int
    prior: Floats

    def winner(self, chosen: Ints, nearness: Floats) -> int:
        """Return the class that the chosen places vote for.

        Of several classes with the most votes it is the one with the nearest vote; of equally near
        ones the most frequent.
        """
        tied = self.tied(chosen)
        if len(tied) == 1:
            return int(tied[0])
        near = np.where(self.votes[np.ix_(chosen, tied)] > 0, nearness[chosen][:, None], -np.inf)
        nearest = near.max(axis=0)
        first = nearest >= nearest.max() - VOTE_ROUNDING * (1 + np.abs(nearest.max()))
        return int(tied[np.where(first, self.prior[tied], -1.0).argmax()])

    def tied(self, chosen: Ints) -> Ints:
        """Return the classes with the most votes of the chosen places."""
        votes = self.votes[chosen].sum(axis=0)
        return np.flatnonzero(votes >= votes.max() * (1 - VOTE_ROUNDING))


@dataclass(frozen=True)
class RowChanges:
    """How a row may change.

    Attributes
    ----------
    unit : ndarray of shape (d,)
        What a change of each number is measured by.
    free : ndarray of bool of shape (d,)
        Numbers that may change.
    limits : ndarray of shape (2, d)
        Their least and greatest values.
    whole : ndarray of bool of shape (d,)
        Numbers that must be whole.
    """

    unit: Floats
    free: Bools
    limits: Floats
    whole: Bools


@dataclass(frozen=True)
class Case:
    """What is decided so far, and the nearest row that agrees with it."""

    among: Bools  # places that are among the k nearest
    beyond: Bools  # places that are not
    pairs: tuple[tuple[int, int], ...] = ()  # the first is at least as near as the second
    limits: tuple[tuple[int, int, float], ...] = ()  # (column, -1 at most or 1 at least, value)
    ties_are_decided: bool = False
    z: Floats = field(default_factory=lambda: np.zeros(0))
    cuts: tuple[tuple[int, int], ...] = ()  # pairs that bound the row

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.z))

    def decided(self, place: int, among: bool) -> "Case":
        """Return the case in which one place more is among the k nearest, or is not."""
        mask = (self.among if among else self.beyond).copy()
        mask[place] = True
        return replace(self, among=mask) if among else replace(self, beyond=mask)


@dataclass
class CellSearch:
    """Search for the nearest row that has a class that is wanted.

    Attributes
    ----------
    voters : Voters
        The places.
    x : ndarray of shape (d,)
        The row to begin at.
    allowed : RowChanges
        How it may change.
    wanted : ndarray of bool of shape (C,)
        Classes to reach.
    most : float
        Only smaller changes are looked for.
    n_left : int
        Number of quadratic programs that may still be solved.
    """

    voters: Voters
    x: Floats
    allowed: RowChanges
    wanted: Bools
    most: float = np.inf
    n_left: int = MOST_PROGRAMS
    slopes: Floats = field(init=False)
    heights: Floats = field(init=False)
    gradients: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.slopes = (self.voters.normals * self.allowed.unit)[:, self.allowed.free]
        self.heights = self.voters.normals @ self.x + self.voters.offsets
        self._keep_voters(self._that_may_vote())

    def _keep_voters(self, kept: Ints) -> None:
        voters = self.voters
        self.voters = replace(
            voters,
            normals=voters.normals[kept],
            offsets=voters.offsets[kept],
            votes=voters.votes[kept],
        )
        self.slopes = self.slopes[kept]
        self.heights = self.heights[kept]
        self.gradients = cdist(self.slopes, self.slopes)

    def _that_may_vote(self) -> Ints:
        """Return the places that are somewhere in reach among the k nearest."""
        n = len(self.heights)
        if not np.isfinite(self.most) or n <= self.voters.k:
            return np.arange(n)
        nearer = np.zeros(n, dtype=int)
        for block in slices(n, 500):  # places that are compared with all at once
            steep = cdist(self.slopes[block], self.slopes)
            gap = self.heights[None] - self.heights[block, None]
            nearer[block] = (gap > self.most * steep).sum(axis=1)
        return np.flatnonzero(nearer < self.voters.k)

    def nearest(self) -> Floats:
        """Return the least change (d,) shorter than `most`, and others a little further inside.

        They are of shape (0, d) if there is none, and `n_left` is negative if the search was given
        up.
        """
        number = count()
        queue: list[tuple[float, int, Case]] = []
        none = np.zeros(len(self.heights), dtype=bool)
        cases: Iterable[Case] | None = [Case(none, none)]
        while cases is not None:
            for case in cases:
                placed = self._placed(case)
                if placed is not None:
                    heapq.heappush(queue, (placed.size, next(number), placed))
                    if self._wins(placed.z):
                        self.most = min(self.most, placed.size * (1 + 1e-6) + 1e-12)
            if not queue or self.n_left < 0:
                return np.empty((0, len(self.x)))
            case = heapq.heappop(queue)[-1]
            cases = self._divided(case)
        self.most = np.inf
        # At a margin from the boundary rows are surely inside.
        inside = [self._bounded(case, margin) for margin in (1e-9, 1e-7, 1e-5)]
        found = [case.z, *(each.z for each in inside if each is not None)]
        changes = np.zeros((len(found), len(self.x)))
        changes[:, self.allowed.free] = found
        return np.asarray(changes * self.allowed.unit)

    def _nearness(self, z: Floats) -> Floats:
        return np.asarray(self.slopes @ z + self.heights)

    def _wins(self, z: Floats) -> bool:
        """Whether a row surely has a wanted class."""
        chosen = np.argsort(-self._nearness(z), kind="stable")[: self.voters.k]
        tied = self.voters.tied(chosen)
        return bool(self.wanted[tied].all()) and not self._odd(z).any()

    def _odd(self, z: Floats) -> Bools:
        """Return which free columns should be whole numbers and are not."""
        values = self.x[self.allowed.free] + z * self.allowed.unit[self.allowed.free]
        return np.asarray(
            self.allowed.whole[self.allowed.free] & (np.abs(values - np.rint(values)) > 1e-6)
        )

    def _divided(self, case: Case) -> Iterable[Case] | None:
        """Divide a case into smaller ones; None if its nearest row has a wanted class."""
        voters = self.voters
        nearness = self._nearness(case.z)
        order = np.flatnonzero(~case.among & ~case.beyond)
        order = order[np.argsort(-nearness[order], kind="stable")]
        known = np.flatnonzero(case.among)
        more, rest = np.split(order, [max(0, voters.k - len(known))])
        among = np.concatenate([known, more])
        beyond = np.concatenate([np.flatnonzero(case.beyond), rest[:1]])
        if len(beyond) and len(more):
            inside = int(among[np.argmin(nearness[among])])
            outside = int(beyond[np.argmax(nearness[beyond])])
            is_open = not case.among[inside] or not case.beyond[outside]
            tolerance = VOTE_ROUNDING * max(1.0, float(np.abs(nearness).max()))
            if is_open and nearness[outside] > nearness[inside] + tolerance:
                # others than these are the nearest ones
                return self._halves(case, outside if case.among[inside] else inside)
        tied = voters.tied(among)
        if len(more) and (len(tied) > 1 or not self.wanted[tied].any()):
            against = voters.votes[more][:, self.wanted].sum(axis=1)
            return self._halves(case, int(more[np.argmin(against)]))
        if not case.ties_are_decided and not self.wanted[voters.winner(among, nearness)]:
            return self._broken_ties(case, among, tied)
        odd = np.flatnonzero(self._odd(case.z))
        if not len(odd):
            return None
        at = odd[0]
        value = float(
            (self.x[self.allowed.free] + case.z * self.allowed.unit[self.allowed.free])[at]
        )
        ends = ((-1, float(np.floor(value))), (1, float(np.ceil(value))))
        return [replace(case, limits=(*case.limits, (int(at), sign, end))) for sign, end in ends]

    def _halves(self, case: Case, place: int) -> Iterable[Case]:
        return case.decided(place, True), case.decided(place, False)

    def _broken_ties(self, case: Case, chosen: Ints, tied: Ints) -> Iterator[Case]:
        """Yield the cases in which a place for a wanted class is the nearest of the tied ones."""
        votes = self.voters.votes[chosen] > 0
        for ours in tied[self.wanted[tied]]:
            rivals = chosen[votes[:, tied[~self.wanted[tied]]].any(axis=1)]
            for place in chosen[votes[:, ours]]:
                pairs = tuple((int(place), int(rival)) for rival in rivals if rival != place)
                yield replace(case, pairs=case.pairs + pairs, ties_are_decided=True)

    def _can_win(self, case: Case) -> bool:
        """Whether a wanted class may still get as many votes as any other."""
        votes = self.voters.votes
        n_more = self.voters.k - int(case.among.sum())
        among = votes[case.among].sum(axis=0)
        rest = votes[~case.among & ~case.beyond]
        if not 0 <= n_more <= len(rest):
            return False
        for ours in np.flatnonzero(self.wanted):
            ahead = among[ours] - among
            if n_more:
                gains = rest[:, [ours]] - rest
                at = len(gains) - n_more
                ahead = ahead + np.partition(gains, at, axis=0)[at:].sum(axis=0)
            if (np.delete(ahead, ours) >= -VOTE_ROUNDING).all():
                return True
        return False

    def _placed(self, case: Case) -> Case | None:
        """Return a case with its nearest row; None if it has none that could be wanted."""
        while self._can_win(case):
            found = self._bounded(case)
            if found is None:
                return None
            case = self._implied(found)
            if (case.among == found.among).all() and (case.beyond == found.beyond).all():
                return case
        return None

    def _implied(self, case: Case) -> Case:
        """Decide the places about which the rows in reach agree.

        All rows of the case that are nearer than `most` are in a ball around its nearest row, with
        the radius √(most² - size²).
        """
        if not np.isfinite(self.most):
            return case
        radius = np.sqrt(max(0.0, self.most**2 - case.size**2))
        nearness = self._nearness(case.z)
        nearer = nearness[:, None] - nearness > radius * self.gradients
        n, k = len(nearness), self.voters.k
        among = case.among | nearer[:, case.among].any(axis=1)
        beyond = case.beyond | nearer[case.beyond].any(axis=0)
        beyond |= ~among & ((nearer | among[:, None]).sum(axis=0) >= k)
        among |= ~beyond & ((nearer | beyond).sum(axis=1) >= n - k)
        clash = among & beyond
        if clash.any() or among.sum() > k:  # of rows as near as `most` there is none
            return replace(case, among=among, beyond=~among)
        return replace(case, among=among, beyond=beyond)

    def _bounded(self, case: Case, margin: float = 0.0) -> Case | None:
        """Return a case with its nearest row, and the pairs of places that bound it.

        With a margin, this far inside of them, in units of the row's changes.
        """
        among = np.flatnonzero(case.among)
        full = len(among) == self.voters.k
        beyond = np.flatnonzero(~case.among if full else case.beyond)
        walls, room = self._walls(case.limits)
        cuts = [*case.cuts, *(pair for pair in case.pairs if pair not in case.cuts)]
        z = case.z if len(case.z) else np.zeros(self.slopes.shape[1])
        if not (len(walls) or case.pairs or (len(among) and len(beyond))):
            return replace(case, z=z)
        for _ in range(len(self.heights) + 10):
            inner = [pair[0] for pair in cuts]
            outer = [pair[1] for pair in cuts]
            A = np.vstack([self.slopes[inner] - self.slopes[outer], walls])
            inside = margin * self.gradients[inner, outer]
            b = np.concatenate([self.heights[outer] - self.heights[inner] + inside, room])
            self.n_left -= 1
            found = least_distance(A, b)
            # with more constraints it only becomes longer
            if found is None or np.linalg.norm(found) >= self.most:
                return None
            z = found
            if not len(among) or not len(beyond):
                break
            nearness = self._nearness(z)
            worst = int(among[nearness[among].argmin()]), int(beyond[nearness[beyond].argmax()])
            short = nearness[worst[1]] - nearness[worst[0]]
            if short <= VOTE_ROUNDING * max(1.0, float(np.abs(nearness).max())) or worst in cuts:
                break
            cuts.append(worst)
        return replace(case, z=z, cuts=tuple(cuts))

    def _walls(self, added: tuple[tuple[int, int, float], ...]) -> tuple[Floats, Floats]:
        """Return the ends of the columns as constraints A z ≥ b."""
        x, unit = self.x[self.allowed.free], self.allowed.unit[self.allowed.free]
        ends = [
            (at, sign, value)
            for sign, row in ((1, self.allowed.limits[0]), (-1, self.allowed.limits[1]))
            for at, value in enumerate(row[self.allowed.free])
            if np.isfinite(value)
        ]
        ends.extend(added)
        A = np.zeros((len(ends), len(x)))
        b = np.zeros(len(ends))
        for row, (at, sign, value) in enumerate(ends):
            A[row, at] = sign * unit[at]
            b[row] = sign * (value - x[at])
        return A, b


def least_distance(A: Floats, b: Floats) -> Floats | None:
    """Return the shortest z (d,) with A z ≥ b; None if there is none.

    The dual is a problem of least squares without negative numbers (Lawson and Hanson 1974,
    chapter 23).
    """
    if not len(A) or (b <= 0).all():
        return np.zeros(A.shape[1])
    unit = np.linalg.norm(A, axis=1)
    if (b[unit == 0] > 0).any():
        return None
    A, b, unit = A[unit > 0], b[unit > 0], unit[unit > 0]
    A, b = A / unit[:, None], b / unit
    scale = float(np.abs(b).max())
    system = np.vstack([A.T, b[None] / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, residual = nnls(system, target, maxiter=50 * len(A))
    if residual < 1e-9:
        return None
    rest = target - system @ weights
    z = -rest[:-1] / rest[-1] * scale
    return z if (A @ z >= b - 1e-7 * max(1.0, scale)).all() else None
