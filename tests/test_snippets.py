"""Every Python snippet of the README and of the documentation runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [
    pytest.param(code, id=f"{page.name}-{index}")
    for page in PAGES
    for index, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S))
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "snippet", "exec"), {"__name__": "snippet"})
