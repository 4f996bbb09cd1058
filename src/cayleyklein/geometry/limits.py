"""How much is computed at a time.

Results do not depend on it, but for the rounding of a product on `MAPPED_ROWS`.
"""

BLOCK_ENTRIES = 2**18  # coordinates of points measured at a time: 2 MB, which stay in cache
DOUBLED_ENTRIES = 2**19  # entries of the largest array of `rounding`: 4 MB; a few exist at once
MAPPED_ROWS = 64  # rows of every matrix product of `lifts.map_rows`
