"""The pictures of the documentation are those that its snippets save, and small."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_saved_picture_is_shown_and_small():
    page = (DOCS / "plotting.md").read_text("utf-8")
    saved = re.findall(r'savefig\("(plot-[\w-]+\.png)"', page)
    assert saved == re.findall(r"\(_static/(plot-[\w-]+\.png)\)", page)
    assert set(saved) == {path.name for path in (DOCS / "_static").glob("plot-*")}
    assert max((DOCS / "_static" / name).stat().st_size for name in saved) < 150_000
