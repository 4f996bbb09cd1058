"""How many rows are looked at, where time grows fast with them."""

JUDGED = 100  # most rows of the maps that are compared: eleven are fitted twice
PROFILED = 300  # most rows of the profile over K: its time grows with their cube, times its points
SCREENED = 300  # rows on which every parameter is tried; of more rows the best ones only
