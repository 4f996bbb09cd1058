# What the build checks by itself: every public name is documented, no internal link is dead, and
# the search finds what readers look for.

import importlib
import json
import pkgutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.search.en import SearchEnglish
from sphinx.util import logging

import cayleyklein

logger = logging.getLogger(__name__)


def public_names():
    """Return the full names that the public modules list in ``__all__``."""
    names = set()
    for info in pkgutil.iter_modules(cayleyklein.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"cayleyklein.{info.name}")
        names |= {f"{module.__name__}.{name}" for name in module.__all__}
    return names


def check_api(_app, env):
    """Warn of public names without an entry in the reference."""
    documented = env.get_domain("py").objects
    for name in sorted(public_names() - set(documented)):
        logger.warning("%s is public, but has no entry in the reference (docs/api)", name)


class Page(HTMLParser):
    """The places of a page that can be linked to, and where it links."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, _tag, attributes):
        """Note ids and addresses."""
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def dead_links(folder):
    """Return (page, link) for the links within a folder of HTML pages that lead nowhere."""
    folder = Path(folder).resolve()
    # What a theme has among its static files may be a template.
    found = (p for p in sorted(folder.rglob("*.html")) if "_static" not in p.parts)
    pages = {path: Page(path.read_text("utf-8")) for path in found}
    dead = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and known and anchor not in known.ids):
                dead.append((str(path.relative_to(folder)), link))
    return dead


def check_links(app, exception):
    """Warn of dead links in what was built."""
    if exception is None and app.builder.format == "html":
        for page, link in dead_links(app.outdir):
            logger.warning("%s links to %s, which is not there", page, link)


SEARCHES = {
    "kernel": "kernels",
    "missing values": "command",
    "mahalanobis": "learning",
    "hyperbolic knn": "neighbors",
    "sparse": "trust",
    "stacking": "stacking",
}
"""What readers type into the search → a page that must be among those that it finds."""


def pages_found(words, folder):
    """Return the pages that have all words, by the index that the search of a site uses."""
    text = (Path(folder) / "searchindex.js").read_text("utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    stem = SearchEnglish({}).stem
    pages = set(range(len(index["docnames"])))
    for word in words.lower().split():
        hits = (index[kind].get(stem(word), []) for kind in ("terms", "titleterms"))
        pages &= {page for each in hits for page in (each if isinstance(each, list) else [each])}
    return {index["docnames"][page] for page in pages}


def check_search(app, exception):
    """Warn where the search does not find a page by the words that readers use."""
    if exception is None and app.builder.name == "html":
        for words, page in SEARCHES.items():
            if page not in pages_found(words, app.outdir):
                logger.warning("a search for %r does not find %s", words, page)


def resolve(app, env, node, text):
    """Find names as they are imported from the package itself; warn of those that are nowhere."""
    target = node.get("reftarget", "")
    if not target.startswith("cayleyklein.") or node.get("refdomain") != "py":
        return None
    first, dot, rest = target.removeprefix("cayleyklein.").partition(".")
    found = None
    homes = [name for name in public_names() if name.split(".")[2] == first]
    if first in cayleyklein.__all__ and homes:
        found = env.get_domain("py").resolve_xref(
            env,
            node["refdoc"],
            app.builder,
            node["reftype"],
            f"{homes[0]}{dot}{rest}",
            node,
            text,
        )
    if found is None:
        logger.warning("%s is named, but has no entry in the reference", target, location=node)
    return found
