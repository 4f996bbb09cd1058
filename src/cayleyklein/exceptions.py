"""The errors and warnings a user can meet.

Every error derives from :class:`CayleyKleinError`, and from the built-in exception that a caller
would expect (``ValueError``, …), so that code written against scikit-learn's habits keeps working.
"""

__all__ = [
    "CayleyKleinError",
    "ClusterError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingExtraError",
    "NotRepresentableError",
    "OutsideDomainError",
    "StrangeRowsWarning",
    "TooLargeError",
    "UnreadableCellsWarning",
]


class CayleyKleinError(Exception):
    """Base class of every error raised on purpose by this package.

    >>> issubclass(InvalidInputError, CayleyKleinError)
    True
    """


class InvalidInputError(CayleyKleinError, ValueError):
    """An argument has the wrong shape, type or value (NaN, asymmetric, empty, …).

    >>> from cayleyklein import CurvedMetric
    >>> CurvedMetric.euclidean(0)
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: Got d=0, but expected a whole number, at least 1.
    """


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument holds values that are not numbers, such as a dict.

    >>> issubclass(InvalidTypeError, TypeError)
    True
    """


class OutsideDomainError(CayleyKleinError, ValueError):
    """A point lies on or outside the boundary of the geometry's domain.

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> try:
    ...     disc([0.0, 0.0], [2.0, 0.0])
    ... except OutsideDomainError:
    ...     print(disc.distance([0.0, 0.0], [2.0, 0.0], outside="inf"))
    inf
    """


class NotRepresentableError(CayleyKleinError, ValueError):
    """The requested object does not exist in the requested form.

    >>> from cayleyklein import CurvedMetric
    >>> try:
    ...     CurvedMetric.euclidean(1, curvature=1.0).ball([1.0], 1.0).ellipsoid()
    ... except NotRepresentableError as error:
    ...     print(str(error).partition(";")[0])
    This elliptic ball of radius 1 reaches the equator and is not an ellipsoid but a hyperboloid
    """


class TooLargeError(CayleyKleinError, MemoryError):
    """The result would not fit into memory; the message says how much it would need.

    >>> issubclass(TooLargeError, MemoryError)
    True
    """


class MissingExtraError(CayleyKleinError, ImportError):
    """An optional dependency is not installed; the message names the extra.

    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class ClusterError(CayleyKleinError, RuntimeError):
    """A Dask cluster lost its scheduler, or too many workers, before the work was done.

    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class StrangeRowsWarning(UserWarning):
    """Rows to predict are unlike any fitted row, so that little is known of them.

    One warning counts the rows of a batch. Their class probabilities are drawn to the class shares.
    This filter makes it an error:

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StrangeRowsWarning)
    """


class UnreadableCellsWarning(UserWarning):
    """Cells of a table cannot be read as the fitted ones, and count as missing.

    One warning counts them by column and shows the first. ``errors="raise"`` of
    :class:`~cayleyklein.tables.TableEncoder`, or this filter, makes it an error:

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnreadableCellsWarning)
    """
