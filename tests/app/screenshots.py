"""Take the screenshots of the documentation: ``python -m tests.app.screenshots``."""

from pathlib import Path

from tests.app.browser import browser, open_page, served, settle

STATIC = Path(__file__).parents[2] / "docs" / "_static"
PLANE = "/?chart=poincare&curvature=-0.9&major=1.1&minor=0.9&shown=cells,regions,bisector,balls"
LEARN = "/learn?data=wine&plane=columns&x=6&y=9&geometry=auto"


def take(directory: Path = STATIC) -> None:
    """Write explorer-plane.png and explorer-learn.png."""
    with served() as address, browser(viewport={"width": 1280, "height": 760}) as context:
        page = open_page(context, address + PLANE)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + 0.62 * box["width"], box["y"] + 0.36 * box["height"])
        settle(page)
        page.wait_for_timeout(500)
        page.screenshot(path=directory / "explorer-plane.png")
        page = open_page(context, address + LEARN)
        page.set_viewport_size({"width": 1280, "height": 950})
        page.click("[data-do=fit]")
        page.wait_for_selector("body[data-running=yes]")
        page.wait_for_selector("body[data-running=no]", timeout=60_000)
        settle(page)
        page.wait_for_timeout(500)
        page.screenshot(path=directory / "explorer-learn.png")


if __name__ == "__main__":
    take()
