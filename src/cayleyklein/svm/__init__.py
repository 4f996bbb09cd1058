"""Support vector machines in curved metrics."""
