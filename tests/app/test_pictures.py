"""The screenshots of the documentation are there, shown, and small."""

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_screenshots():
    page = (DOCS / "explorer.md").read_text("utf-8")
    for name in ("plane", "construct", "tiling", "worksheet", "tour", "learn"):
        assert f"_static/explorer-{name}.png" in page
        assert (DOCS / "_static" / f"explorer-{name}.png").stat().st_size < 300_000
