"""How many rows, pairs and derivatives are computed at a time, or with an expensive method."""

CACHED_PAIRS = 2**15  # pairs computed at a time, which stay in cache through the passes over them
BLOCK_DERIVATIVES = 2**19  # derivatives of distances held at a time: 4 MB
DENSE = 300  # most rows for which all eigenvectors are computed, instead of those needed
SAMPLE = 300  # rows on which the curvature to start from is found
STARTING_POINTS = 300  # most fixed points of which multiples are tried as places of a new one
