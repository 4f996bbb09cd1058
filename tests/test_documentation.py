"""The pages hang together: links lead somewhere, every module is in the reference."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import cayleyklein

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
SCRIPTS = {path.stem: path for path in (ROOT / "examples").rglob("plot_*.py")}


def without_code(text):
    return re.sub(r"```(?:python|console)\n.*?```|`[^`\n]*`", "", text, flags=re.S)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S), re.M
    )
    slugs = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return set(slugs) | {re.sub(r"[^\w]+", "-", heading.lower()).strip("-") for heading in headings}


def is_alive(page, link):
    """Say whether a relative link of a page leads to a file, and to a heading in it."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if "auto_examples" in path:  # made by the build
        name = re.sub(r"^sphx_glr_|_\d{3}$", "", target.stem)
        return name == "index" or name in SCRIPTS
    return target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_internal_link_is_dead(page):
    text = without_code(page.read_text("utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    links += re.findall(r"```\{(?:image|figure|include)\} (\S+)", page.read_text("utf-8"))
    links = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert not [link for link in links if not is_alive(page, link)]


def test_every_page_is_in_the_table_of_contents():
    texts = [page.read_text("utf-8") for page in DOCS.glob("*.md")]
    trees = "".join("".join(re.findall(r"```\{toctree\}\n.*?```", text, re.S)) for text in texts)
    entries = set(re.findall(r"^(?:[\w ]+<)?([\w-]+)>?$", trees, re.M))
    assert {page.stem for page in DOCS.glob("*.md")} == entries | {"index"}


def public_modules():
    """Return the modules with public names, by their own names."""
    names = [info.name for info in pkgutil.iter_modules(cayleyklein.__path__)]
    found = {n: importlib.import_module(f"cayleyklein.{n}") for n in names if not n.startswith("_")}
    return {name: module for name, module in found.items() if module.__all__}


def test_every_public_module_is_in_the_reference():
    reference = (DOCS / "api.md").read_text("utf-8")
    for name in public_modules():
        assert f"api/{name}\n" in reference
        page = (DOCS / "api" / f"{name}.md").read_text("utf-8")
        assert f"automodule:: cayleyklein.{name}\n   :members:" in page


def test_constants_are_in_the_reference():
    """Autodoc leaves out what has no docstring of its own: ``make docs`` checks all the names."""
    for folder, module in public_modules().items():
        page = (DOCS / "api" / f"{folder}.md").read_text("utf-8")
        for name in module.__all__:
            if name.isupper() and not isinstance(getattr(module, name), type):
                assert f".. py:data:: {name}\n" in page
