"""The classifiers: by the nearest neighbours in a learned metric, and by sums of all parts."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import encode_classes, is_dask, restore_on_error
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import lmnn
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import algorithms, curved_neighbors, search
from cayleyklein.parts import votes
from cayleyklein.parts.base import AnyQueries, numbers_of
from cayleyklein.parts.places import count_rows
from cayleyklein.prediction import conformal, strangers
from cayleyklein.prediction.answers import Classes
from cayleyklein.prediction.counterfactual import ChangesOfClass
from cayleyklein.prediction.explain import KernelExplanation, Told, explain_sum
from cayleyklein.prediction.kernel_predictor import KernelPredictor
from cayleyklein.prediction.neighbor_predictor import NeighborPredictor
from cayleyklein.prediction.rehearsal import ClassTrials
from cayleyklein.prediction.suspicious import Suspicion, suspicious_classes


class LabelPredictor(ChangesOfClass, ClassifierMixin):
    """Mixin of the classifiers."""

    classes_: AnyArray
    _numeric = False
    _learner_kind = lmnn.CurvedLMNN
    _trials = ClassTrials
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *lmnn.LABEL_GEOMETRIES})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def predict_log_proba(self, X: ArrayLike | None) -> Floats:
        """Return the logarithm of the probabilities of rows X, see :meth:`predict_proba`."""
        return cast(Floats, np.log(cast(Any, self).predict_proba(X)))

    def predict(self, X: ArrayLike | None) -> AnyArray:
        """Return the most probable class (m,) of rows X, see :meth:`predict_proba`."""
        best = cast(Any, self).predict_proba(X).argmax(axis=1)
        names = self.classes_
        if is_dask(best):
            return cast(AnyArray, best.map_blocks(names.take, dtype=names.dtype))
        return np.asarray(names[best])

    def predict_set(self, X: ArrayLike, level: float = 0.95) -> Bools:
        """Return the set of classes of each row that holds its class with probability `level`.

        A class is in the set if it is at least as probable as the class of a share `level` of the
        fitted rows was, each left out (a conformal set); the most probable class always is.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.
        level : float, default=0.95
            Probability that a set holds the class, between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (m, n_classes)
            In the order of ``classes_``.

        Examples
        --------
        >>> from cayleyklein import CurvedKernelClassifier
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(X[::2], y[::2])
        >>> sets = model.predict_set(X[1::2], 0.99)
        >>> bool(sets[np.arange(len(sets)), y[1::2]].mean() > 0.97)
        True
        >>> {int(size) for size in sets.sum(axis=1)}
        {1, 2}
        """
        value = conformal.as_level(level)
        model = cast(Any, self)
        shares = model.predict_proba(X)
        if is_dask(shares):
            raise InvalidInputError("Sets are for rows in memory; pass X.compute().")
        left_out = self._held_out_answers()
        given = self._given
        return conformal.likely_classes(shares, left_out, given.target, given.weights, value)

    def _suspicious_among(self, X: Any, known: Ints, target: AnyArray) -> Suspicion:
        shares = self._left_out_and_new(X, known, cast(Any, self).predict_proba)
        found = suspicious_classes(shares, target)
        # of a class with one row, the others know nothing
        several = np.bincount(self._given.target, minlength=len(self.classes_)) > 1
        return found._replace(numbers=found.numbers[several[target[found.numbers]]])


class CurvedKNeighborsClassifier(LabelPredictor, NeighborPredictor):
    """Learn a curved metric from labelled rows, and classify by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote; equal rows in memory are one neighbour, which has the votes
        of all of them. "auto" is the number with the least log loss on held-out rows where the
        geometry is "auto", "product" or "mixed", and 15 otherwise.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        Geometry of the metric to learn, see :class:`CurvedLMNN`. "auto" learns the product, and
        keeps it unless plain neighbours, in standardised or unscaled columns, do as well on
        held-out rows. "mixed" chooses α on held-out rows.
    learner : estimator, optional
        Estimator that learns the metric, such as ``CurvedLMNN(margin=0.1)``, or
        ``CayleyKleinLMNN("elliptic")`` for the paper's own method; it is cloned and fitted. Wrap a
        fitted one in scikit-learn's ``FrozenEstimator`` to use it as it is.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"local", "linear", "uniform", "distance"} or callable, default="local"
        Weight of a vote. "linear": 1 - d_i/d_{k+1}. "local": the same of d_i/√s_i, where s_i is
        the row's distance to its fifth nearest row, so that rows in dense regions do not outvote
        others; the k voters are chosen by it among the 2k + 1 nearest rows. "uniform": 1.
        "distance": 1/d_i. Or a function of the distances (m, k) that returns a weight for each.
    class_weight : dict, "balanced" or None, default=None
        Factor of the rows' weights for each class. "balanced" gives all classes the same total
        weight.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share; all rows vote. "auto" takes at most
        10,000 for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on
        until held-out rows show no gain (``selection_.stages``). None takes all rows.
    algorithm : {"auto", "brute", "tree", "vantage"}, default="auto"
        How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (k-d tree) or
        "vantage" (vantage point tree).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" ranks the fitted rows for them, all infinitely
        far; "raise" is an error that names them.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows and of the learner.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of learning the metric. If it returns
        true, learning stops and keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes in the fitted rows, to which probabilities are shrunk.
    metric_ : CurvedMetric, MixedMetric or ProductMetric
        Metric of the encoded rows.
    n_neighbors_ : int
        Number of neighbours that vote.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why; None with a given learner or
        metric.
    algorithm_used_ : str
        Algorithm of the search: "brute", "tree" or "vantage".
    n_samples_fit_, n_features_in_ : int
        Numbers of rows and columns of the fitted X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the answers, see :meth:`feature_weights`.

    Notes
    -----
    Probabilities are (votes + s · class share) / (all votes + s), where s is a tenth of the mean
    weight of a neighbour, so that no vote of a few neighbours makes any 0 or 1. The class with the
    largest one is predicted. Of several classes with the most votes, the one with the nearest vote
    gets s more; of equally near ones the most frequent, and then the first. A common factor of all
    sample weights changes nothing.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.metric_.geometry, model.predict_log_proba(X[:2]).shape
    ('product', (2, 3))
    >>> model.feature_weights().shape
    (13,)

    With a metric that is known:

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> model.predict([[0.5], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [StrOptions({"local", *votes.VOTE_KINDS}), callable],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: Metric | None = None,
        weights: votes.Weights = "local",
        class_weight: dict[Any, float] | str | None = None,
        subsample: int | float | str | None = "auto",
        algorithm: algorithms.Algorithm = "auto",
        outside: curved_neighbors.OutsideQueries = "extend",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.learner = learner
        self.metric = metric
        self.weights = weights
        self.class_weight = class_weight
        self.subsample = subsample
        self.algorithm = algorithm
        self.outside = outside
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.n_jobs = n_jobs

    @restore_on_error
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add labelled rows as neighbours; the metric stays. The first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to add.
        y : array-like of shape (n,)
            Class of each row.
        classes : array-like, optional
            All classes that later calls may have, at the first call; those of its y when None. At
            later calls the same, or None.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows' votes.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1))
        >>> model = model.partial_fit([[0.0], [1.0]], ["a", "b"])
        >>> model.partial_fit([[5.0]], ["a"]).predict([[4.0]])
        array(['a'], dtype='<U1')
        """
        if self.class_weight is not None:
            raise InvalidInputError(
                "class_weight needs all rows at once; give sample_weight to partial_fit instead."
            )
        known = None if classes is None else encode_classes(classes, name="classes")[0]
        before: Any = getattr(self, "classes_", known)
        if known is not None and not np.array_equal(known, before):
            raise InvalidInputError(
                f"classes are {known.tolist()}, but the first call had {before.tolist()}; "
                f"leave them out, or fit again."
            )
        return self._grow(X, y, sample_weight, before)

    def predict_proba(self, X: ArrayLike | None) -> Floats:
        """Return the probabilities (m, n_classes) of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote; also in ``predict``,
            ``predict_log_proba`` and ``score``. Answers of a Dask collection are lazy.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> plain = CurvedMetric.euclidean(1)
        >>> model = CurvedKNeighborsClassifier(3, metric=plain, weights="uniform")
        >>> model = model.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> model.predict_proba([[0.1]]).round(3)
        array([[0.333, 0.667]])
        """
        k = search.number_of_neighbors(self, own=X is None)
        return cast(Floats, self._answers(search.checked_queries(self, X), k))


class CurvedKernelClassifier(LabelPredictor, KernelPredictor):
    """Classify by kernel machines in a learned curved metric and in columns, and by neighbours.

    Parts give each class a score, and a weighted sum of the scores becomes probabilities
    by softmax. Columns need no scaling.

    - "metric": ridge regression of class indicators in the kernel exp(-γ d), d the learned metric;
    - "columns": the same in exp(-γ Σⱼ cⱼ|xⱼ - yⱼ|), columns weighted by how well they predict;
    - "ranks": the same of normal scores of the columns' ranks, which suits heavy tails;
    - "neighbors": log votes of the nearest rows in the metric;
    - "plain": log votes of the nearest rows in standardised columns.

    Parameters
    ----------
    parts : "auto", str, estimator, or sequence of these, default="auto"
        Parts to add: "metric" and "columns", kernels in the learned metric and in weighted columns;
        "ranks", a kernel in the ranks of columns; "neighbors" and "plain", votes in the metric and
        in standardised columns; "rules", boosted trees; any classifier with `predict_proba`, or
        ``(name, estimator)``. It sees the rows as numbers, or as ``(name, estimator, "table")`` the
        table as it is. Held-out rows say how much each part counts, and those that do not help are
        dropped. "auto" adds "metric", "columns", "neighbors", "plain", and from 300 rows on
        "rules".
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        Geometry of the metric to learn, see :class:`CurvedLMNN`. "auto" is the product. The α of
        "mixed" is 0.5.
    learner : estimator, optional
        Estimator that learns the metric, such as ``CurvedLMNN(margin=0.1)``, or
        ``CayleyKleinLMNN("elliptic")`` for the paper's own method; it is cloned and fitted. Wrap a
        fitted one in scikit-learn's ``FrozenEstimator`` to use it as it is.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    columns : {"auto", "standardised", "ranks"}, default="auto"
        What the parts see: "standardised", columns in units of their standard deviations; "ranks",
        normal scores of their ranks, at most 3 either way, for all parts. "auto" adds the part
        "ranks" to "columns" if a column has a value more than five standard deviations from its
        mean, and takes ranks for all parts if this part alone is clearly better than "columns".
    gamma : float, optional
        Rate γ > 0 of both kernels, times the median distance between rows. By default, for each
        kernel, the one from 0.1 to 3 that predicts left-out rows best.
    ridge : float, optional
        Ridge penalty λ > 0. By default, for each kernel, the one from 0.001 to 30 that predicts
        left-out rows best.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote. "auto" is the number with the least log loss on held-out
        rows.
    n_landmarks : int or "auto", default="auto"
        Number of rows that give a machine of many rows its global shape. "auto" takes none up to
        6,000 distinct rows, for which machines are exact, and 250 to 500 of more rows, beside an
        exact machine in each leaf of rows.
    class_weight : dict, "balanced" or None, default=None
        Factor of the rows' weights for each class. "balanced" gives all classes the same total
        weight.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share; the machines use all rows. "auto"
        takes at most 4,000, None takes all.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows, the landmarks and the learner.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of learning the metric. If it returns
        true, learning stops and keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    part_weights_, part_shares_ : dict of float
        The weight of each part that counts, and its share in the spread of the scores.
    metric_ : CurvedMetric, MixedMetric, ProductMetric or None
        The metric, of ranks where ``columns_`` is "ranks"; None where no part needs one.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    columns_ : {"standardised", "ranks"}
        What the parts see.
    selection_ : Selection
        Held-out score of each part and of their sum.
    n_neighbors_ : dict of int
        Number of neighbours that vote, by part.
    log_marginal_likelihood_ : float
        Log marginal likelihood of the class indicators as Gaussian processes with the covariance of
        the first kernel part and the variance that fits best; NaN with landmarks, or without a
        kernel part.
    n_samples_fit_, n_features_in_ : int
        Numbers of rows and columns of the fitted X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the answers, see :meth:`feature_weights`.

    Notes
    -----
    Up to 2,500 distinct rows, γ and λ are those with the least squared error of leaving
    one row out, which has a closed form. The weights of the parts are those with the largest
    likelihood on three folds, whose metric, column weights and machines are learned without the
    held-out rows; as few rows say little, weights are shrunk towards 1.5 for machines and 0 for
    votes, with the force of one row. Beyond 2,500 rows, one part of at most 2,000 rows is held
    out: the metric and the weights of columns are learned without it, and machines predict each of
    its rows without the row, in closed form.

    Probabilities are (n softmax + class shares) / (n + 1) with n rows, never 0 or 1. Equal rows are
    one place with the mean of their class indicators, and are held out together: a table given
    twice is the table given once. Only if most rows share their place with rows of other classes,
    as in a table of a few categories, and weights are multiples of the least one, are they held out
    one by one. A weight of 2 is two rows, and a common factor of all weights changes nothing. Rows
    outside the domain of a hyperbolic metric have the kernel 0 with all others there.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKernelClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.predict_proba(X[:1]).shape, model.predict_log_proba(X[:1]).shape
    ((1, 3), (1, 3))
    >>> model.decision_function(X[:1]).shape, model.feature_weights().shape
    ((1, 3), (13,))
    >>> model.explain(X[0]).names.shape, model.kneighbors(X[:1], n_neighbors=2)[1].shape
    ((13,), (1, 2))

    One part, with a metric that is known:

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKernelClassifier("metric", metric=disc, gamma=1.0, ridge=0.1)
    >>> model.fit([[0.0], [0.1], [0.8], [0.9]], ["a", "a", "b", "b"]).predict([[0.3], [0.7]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        parts: Any = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: Metric | None = None,
        columns: str = "auto",
        gamma: float | None = None,
        ridge: float | None = None,
        n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            parts,
            geometry=geometry,
            learner=learner,
            metric=metric,
            columns=columns,
            gamma=gamma,
            ridge=ridge,
            n_neighbors=n_neighbors,
            n_landmarks=n_landmarks,
            subsample=subsample,
            random_state=random_state,
            callback=callback,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _answer_for(self, given: GivenRows, n_places: int, seed: int) -> Classes:
        n_rows = float(n_places)
        if not isinstance(given.X, RowBlocks):
            counts, counted = count_rows(given)
            n_rows = float(counts.weights.sum()) if counted else n_rows
        classes = cast(AnyArray, given.classes)
        mass = np.bincount(given.target, weights=given.weights, minlength=len(classes))
        return Classes(mass / mass.sum(), n_rows)

    def predict_proba(self, X: ArrayLike | None) -> Floats:
        """Return the probabilities (m, n_classes) of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each by the folds that it was held out of; also in
            ``predict``, ``predict_log_proba`` and ``score``. Beyond 2,500 distinct rows the model
            is then fitted three times more, once. Answers for a Dask collection are lazy.
        """
        if X is None:
            return cast(Floats, self._sum.answer.says(self._left_out_totals()))
        rows = self._checked(X)
        total = self._sum.total(rows)
        prior = cast(Classes, self._sum.answer).prior
        if not is_dask(total):
            trust = self._known_rows.trust(numbers_of(rows))
            strangers.warn_of_strangers(trust, drawn=True)
            return strangers.drawn_to_shares(self._sum.answer.says(total), trust, prior)
        shares = total.map_blocks(self._sum.answer.says, dtype=np.float64)
        return cast(
            Floats, strangers.drawn_lazily(self._known_rows, numbers_of(rows), shares, prior)
        )

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return log probabilities (m, n_classes) of rows X; log odds (m,) for two classes."""
        logs = self.predict_log_proba(X)
        return np.asarray(logs[:, 1] - logs[:, 0]) if len(self.classes_) == 2 else logs

    def explain(self, X: ArrayLike) -> Any:
        """Explain predictions by the rows and columns that count for and against the class.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives a KernelExplanation, several give :class:`Explanations`, a list of
            them.
        """

        def explain(rows: AnyQueries) -> list[KernelExplanation]:
            numbers = numbers_of(rows)
            prior = cast(Classes, self._sum.answer).prior
            trust = self._known_rows.trust(numbers)
            shares = self._sum.answer.says(self._sum.total(rows))
            shares = strangers.drawn_to_shares(shares, trust, prior)
            told = []
            for each, strange in zip(shares, self._known_rows.quantiles(numbers), strict=True):
                direction = np.full(len(each), -1 / max(1, len(each) - 1))
                direction[each.argmax()] = 1.0
                label = self.classes_[each.argmax()]
                told.append(Told(label, f"the log odds of {label}", direction, each, strange))
            labels = self.classes_[self._given.target]
            by_column = partial(entrance.by_column, self)
            return explain_sum(self._sum, rows, told, self._reference, by_column, labels)

        return self._one_or_more(X, explain)
