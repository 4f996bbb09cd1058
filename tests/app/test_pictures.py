"""The screenshots of the documentation are there, shown, and small."""

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_screenshots():
    page = (DOCS / "explorer.md").read_text("utf-8")
    for name in ("explorer-plane.png", "explorer-tour.png", "explorer-learn.png"):
        assert f"_static/{name}" in page
        assert (DOCS / "_static" / name).stat().st_size < 300_000
