"""``cayleyklein explore``: a page where the geometry moves."""

from __future__ import annotations

from typing import Annotated

import typer

from cayleyklein.app import explore

__all__ = ["command"]


def command(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 5006,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is this computer only.")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Open a page where points, conics and curvatures can be moved, and metrics learned."""

    def announce(address: str) -> None:
        typer.echo(f"The explorer is at {address} (Ctrl+C ends it).")

    explore(port, host, browser=not no_browser, on_start=announce)
