"""Limits of memory and work: what a visitor may ask of the server.

With all of them, an answer takes a second or so and a fit some minutes of one core.
"""

MOST_POINTS = 2000  # of the plane
MOST_FIGURES = 200  # constructed from the points
MOST_CORNERS = 24  # of a constructed polygon
NOTE_LETTERS = 120
MOST_TILES = 1500

TABLE_BYTES = 5_000_000  # of an upload
TABLE_ROWS = 20_000
TABLE_COLUMNS = 100
PREDICTED_ROWS = 1000  # at once

FITS = 2  # that run at once; others wait for their turn
FIT_SECONDS = 300.0  # after which a fit is ended
COMMAND_THREADS = 4  # commands that are computed at once, so that no visitor waits for another
ANSWER_SECONDS = 20.0  # after which a command or an export is given up
QUEUE_SECONDS = 120.0  # after which an export that waits for others is given up
REQUEST_SECONDS = 10.0  # after which a request that is not whole is dropped

MESSAGE_BYTES = 4 * TABLE_BYTES  # an upload's characters may take several bytes each
ADDRESS_BYTES = 128_000
HEADER_BYTES = 1_000_000
OFFLINE_BYTES = 3_000_000  # of an offline page; the larger its frames, the fewer it has
