"""Take the screenshots of the documentation: ``python -m tests.app.screenshots``."""

from pathlib import Path

from tests.app.browser import browser, open_page, pixel, served, settle, visit

STATIC = Path(__file__).parents[2] / "docs" / "_static"
PLANE = (
    "/?chart=klein&second=hemisphere&curvature=-0.8&major=1.1&minor=0.9&tilt=32&turn=-20"
    "&shown=cells,regions,bisector,cross&chosen=6,18"
)
LEARN = "/learn?data=balance&geometry=auto"


def take(directory: Path = STATIC) -> None:
    """Write explorer-plane.png, explorer-tour.png and explorer-learn.png."""
    with served() as address, browser(viewport={"width": 1280, "height": 760}) as context:
        page = open_page(context, address + PLANE)
        page.evaluate("localStorage.setItem('tour', 'seen')")
        visit(page, address + PLANE)
        page.mouse.move(*pixel(page, 0.35, 0.3))
        settle(page)
        page.screenshot(path=directory / "explorer-plane.png")
        visit(page, address)
        page.click("#start-tour")
        settle(page)
        page.click("#tour-next")
        settle(page)
        page.screenshot(path=directory / "explorer-tour.png")
        page.set_viewport_size({"width": 1280, "height": 900})
        visit(page, address + LEARN)
        page.click("[data-do=fit]")
        page.wait_for_selector("body[data-running=yes]")
        page.wait_for_selector("body[data-running=no]", timeout=60_000)
        settle(page)
        curved = "explorer.pictures[2]"
        x, y = page.evaluate(f"{curved}.toPixel({curved}.points[300], {curved}.points[301])")
        box = page.locator("#picture-curved").bounding_box()
        page.mouse.move(box["x"] + x, box["y"] + y)
        settle(page)
        page.screenshot(path=directory / "explorer-learn.png")


if __name__ == "__main__":
    take()
