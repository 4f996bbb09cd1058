"""How many rows, columns and trees are looked at, where time grows fast with them."""

JUDGED = 100  # most rows of the maps that are compared: eleven are fitted twice
PROFILED = 300  # most rows of the profile over K: its time grows with their cube, times its points
SCREENED = 300  # rows on which every parameter is tried; of more rows the best ones only
MOST_DIRECTIONS = 12  # principal directions whose products are columns of the quadratic model
N_TREES = 40
STEPS_TO_CENTER = 2000  # the centre of the smallest ball is then right to R/2000
