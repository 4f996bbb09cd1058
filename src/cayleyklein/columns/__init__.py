"""How columns of any kind become rows of numbers."""
