"""The whole of learning and voting once more: plain loops in many digits, from the definitions.

Nothing here is fast, clever or shared with the library. A metric is a list of parts
(weight, L, μ, K); distances are the paper's arccos and arccosh.
"""

import mpmath
import numpy as np

DIGITS = 30


def parts_of(metric):
    """A metric of the library as plain numbers."""
    several = getattr(metric, "metrics", (metric,))
    weights = getattr(metric, "weights", np.ones(1))
    return [
        (float(w), m.factor.tolist(), m.center.tolist(), float(m.curvature))
        for w, m in zip(weights, several, strict=True)
    ]


def dot(p, q):
    return mpmath.fsum(a * b for a, b in zip(p, q, strict=True))


def coordinates(X, factor, center):
    """z = L(x - μ) of each row."""
    shifted = [[mpmath.mpf(a) - b for a, b in zip(x, center, strict=True)] for x in X]
    return [[dot(row, x) for row in factor] for x in shifted]


def curved(p, q, K):
    """arccos, arccosh or the root of the square of S_pq/√(S_pp S_qq), by the sign of K."""
    if K == 0:
        difference = [a - b for a, b in zip(p, q, strict=True)]
        return mpmath.sqrt(dot(difference, difference))
    ratio = (1 + K * dot(p, q)) / mpmath.sqrt((1 + K * dot(p, p)) * (1 + K * dot(q, q)))
    if K > 0:
        return mpmath.acos(min(ratio, mpmath.mpf(1))) / mpmath.sqrt(K)
    return mpmath.acosh(max(ratio, mpmath.mpf(1))) / mpmath.sqrt(-K)


@mpmath.workdps(DIGITS)
def all_distances(X, Y, parts):
    """The sum over the parts of weight · d, of each row of X to each of Y."""
    total = [[mpmath.mpf(0)] * len(Y) for _ in X]
    for weight, factor, center, K in parts:
        first, second = (coordinates(Z, factor, center) for Z in (X, Y))
        for i, p in enumerate(first):
            for j, q in enumerate(second):
                # 0 on the spot, which a ratio of rounded roots is not quite
                total[i][j] += 0 if p == q else weight * curved(p, q, K)
    return total


def standardised(X):
    """Columns with mean 0 and standard deviation 1; a constant column is all 0."""
    columns = []
    for values in zip(*X.tolist(), strict=True):
        values = [mpmath.mpf(v) for v in values]
        mean = mpmath.fsum(values) / len(values)
        square = mpmath.fsum((v - mean) ** 2 for v in values) / len(values)
        columns.append([(v - mean) / mpmath.sqrt(square) if square else v * 0 for v in values])
    return list(zip(*columns, strict=True))


def nearest_of_class(D, y, k):
    """The k nearest other rows of each row's class, equally near ones in their order."""
    targets = []
    for i in range(len(y)):
        same = [j for j in range(len(y)) if j != i and y[j] == y[i]]
        targets.append(sorted(same, key=lambda j, i=i: (D[i][j], j))[:k])
    return targets


def euclidean_targets(X, y, k):
    rows = standardised(X)
    D = [[mpmath.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
    return nearest_of_class(D, y, k)


def loss(D, y, targets, *, margin, push, squared, weights=None, n_impostors=None, anchors=None):
    """ε over the nearest impostors of each anchor, and the violated triplets."""
    total, n_active = mpmath.mpf(0), 0
    phi = (lambda d: d**2) if squared else (lambda d: d)
    for i, mine in zip(range(len(y)) if anchors is None else anchors, targets, strict=True):
        others = sorted((j for j in range(len(y)) if y[j] != y[i]), key=lambda j, i=i: (D[i][j], j))
        terms = mpmath.mpf(0)
        for j in mine:
            near = phi(D[i][j])
            terms += (1 - push) * near
            for other in others[:n_impostors]:
                hinge = margin + near - phi(D[i][other])
                if hinge > 0:
                    terms += push * hinge
                    n_active += 1
        total += terms if weights is None else mpmath.mpf(float(weights[i])) * terms
    return total, n_active


@mpmath.workdps(DIGITS)
def gradient(value, factor, center, K):
    """∂/∂L, ∂/∂μ and ∂/∂K of a function of them, by differences in many digits."""
    h = mpmath.mpf(10) ** -8

    def slope(change):
        return float((value(*change(h)) - value(*change(-h))) / (2 * h))

    def moved(matrix, i, j, by):
        copy = [[mpmath.mpf(v) for v in row] for row in matrix]
        copy[i][j] += by
        return copy

    factor, center = np.asarray(factor).tolist(), np.asarray(center).tolist()
    r, d = np.shape(factor)
    by_factor = [
        [slope(lambda e, i=i, j=j: (moved(factor, i, j, e), center, K)) for j in range(d)]
        for i in range(r)
    ]
    by_center = [slope(lambda e, j=j: (factor, moved([center], 0, j, e)[0], K)) for j in range(d)]
    return np.array(by_factor), np.array(by_center), slope(lambda e: (factor, center, K + e))


def neighbors(queries, X, k, parts):
    """Rows of the k nearest, equally near ones in their order, and their distances."""
    found, lengths = [], []
    for D in all_distances(queries, X, parts):
        order = sorted(range(len(X)), key=lambda j, D=D: (D[j], j))[:k]
        found.append(order)
        lengths.append([D[j] for j in order])
    return found, lengths


def shares(rows, lengths, y, classes, weights, k):
    """Class probabilities by the votes of the k nearest; for "linear" one more is given."""
    prior = {c: mpmath.mpf(int(sum(label == c for label in y))) / len(y) for c in classes}
    tenth = mpmath.mpf(1) / 10
    answers = []
    for neighbours, far in zip(rows, lengths, strict=True):
        near = far[:k]
        if weights == "uniform":
            counts = [mpmath.mpf(1)] * k
        elif weights == "linear":
            counts = [1 - d / far[k] for d in near]
        elif any(d == 0 for d in near):  # what is on the spot outvotes all else
            counts = [mpmath.mpf(d == 0) for d in near]
        else:
            counts = [near[0] / d for d in near]
        votes = {c: mpmath.mpf(0) for c in classes}
        for row, count in zip(neighbours, counts, strict=False):
            votes[y[row]] += count
        tied = [c for c in classes if votes[c] == max(votes.values())]
        if len(tied) > 1:  # the nearest vote, then the most frequent class, then the first
            nearest = {c: min(d for j, d in zip(neighbours, near, strict=False) if y[j] == c)
                       for c in tied}  # fmt: skip
            winner = min(tied, key=lambda c: (nearest[c], -prior[c], list(classes).index(c)))
            votes[winner] += tenth
        total = mpmath.fsum(votes.values()) + tenth
        answers.append([float((votes[c] + tenth * prior[c]) / total) for c in classes])
    return np.array(answers)
