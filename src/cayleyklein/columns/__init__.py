"""How columns of any kind become rows of numbers."""

__all__: list[str] = []
