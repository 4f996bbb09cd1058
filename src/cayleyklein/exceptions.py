"""The errors a user can meet.

Every error derives from :class:`CayleyKleinError`, and from the built-in
exception that a caller would expect (``ValueError``, ``ImportError``), so that
code written against scikit-learn's habits keeps working.
"""

__all__ = [
    "CayleyKleinError",
    "ClusterError",
    "InvalidInputError",
    "MissingExtraError",
    "NotCollinearError",
    "NotRepresentableError",
    "OutsideDomainError",
]


class CayleyKleinError(Exception):
    """Base class of every error raised on purpose by this package."""


class InvalidInputError(CayleyKleinError, ValueError):
    """An argument has the wrong shape, type or value (NaN, asymmetric, empty, …)."""


class OutsideDomainError(CayleyKleinError, ValueError):
    """A point lies on or outside the boundary of the geometry's domain."""


class NotRepresentableError(CayleyKleinError, ValueError):
    """The object asked for does not exist in the representation asked for.

    For example a form S of the wrong signature, which is no curved Mahalanobis
    metric, or an elliptic ball across the equator, which is no ellipsoid.
    """


class NotCollinearError(CayleyKleinError, ValueError):
    """Points that should lie on one line do not."""


class MissingExtraError(CayleyKleinError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class ClusterError(CayleyKleinError, RuntimeError):
    """A Dask cluster lost its scheduler, or too many workers, before the work was done."""
