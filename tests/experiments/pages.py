"""What a page would load from elsewhere."""

from html.parser import HTMLParser

LOADING = {"src", "href", "srcset", "data", "poster", "action", "xlink:href"}


class References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [
            value
            for name, value in attrs
            if name in LOADING and not value.startswith(("data:", "#"))
        ]
        if tag in ("script", "link", "iframe", "object"):
            self.found.append(tag)


def external_references(page):
    """Return everything that a page refers to outside itself."""
    parser = References()
    parser.feed(page)
    style = page.split("<style>")[1].split("</style>")[0]
    return parser.found + [word for word in ("url(", "@import") if word in style]
