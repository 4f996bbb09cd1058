"""Kernel machines in curved metrics: ridge regression, whose mean is a Gaussian process's."""

__all__: list[str] = []
