"""Limits of memory and work: what a visitor may ask of the server.

With all of them, an answer takes a second or so and a fit some minutes of one core.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PageLimits:
    """What the explorer allows."""

    # Of the plane and its worksheets.
    most_points: int = 2000
    most_figures: int = 200  # constructed from the points
    most_corners: int = 24  # of a constructed polygon
    most_tiles: int = 1500
    note_letters: int = 120
    map_names: int = 40  # of points of a map, that are written beside them
    name_letters: int = 40  # of one of these
    worksheet_letters: int = 20_000
    condition_letters: int = 300
    trail_spots: int = 2000  # where a point has been
    trail_paths: int = 60  # where a line or curve has been

    # Of a table that is uploaded.
    table_bytes: int = 5_000_000
    table_rows: int = 20_000
    table_columns: int = 100
    predicted_rows: int = 1000  # at once
    field_letters: int = 200  # of a cell in the form of one row

    # Of work: what is beyond waits for its turn, or is given up.
    fits: int = 2  # that run at once
    fit_seconds: float = 300.0  # after which a fit is ended
    kept_fits: int = 12  # of the package's tables, for all visitors
    command_threads: int = 4  # commands that are computed at once
    answer_seconds: float = 20.0  # after which a command or an export is given up
    queue_seconds: float = 120.0  # after which an export that waits for others is given up
    request_seconds: float = 10.0  # after which a request that is not whole is dropped

    # Of what is sent.
    message_bytes: int = 20_000_000  # an upload's characters may take several bytes each
    address_bytes: int = 128_000
    header_bytes: int = 1_000_000
    offline_bytes: int = 3_000_000  # of an offline page; the larger its frames, the fewer it has


LIMITS = PageLimits()
