"""Parts of an answer: each gives every row a score for every target."""

__all__: list[str] = []
