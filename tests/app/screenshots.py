"""Take the screenshots of the documentation: ``python -m tests.app.screenshots``."""

from pathlib import Path

from tests.app.browser import browser, open_page, pixel, served, settle, visit

STATIC = Path(__file__).parents[2] / "docs" / "_static"
PLANE = (
    "/?chart=klein&second=hemisphere&curvature=-0.8&major=1.1&minor=0.9&tilt=32&turn=-20"
    "&shown=cells,regions,bisector,cross&chosen=6,18"
)
OBJECTS = (
    "point,A,,ink,0,0;point,B,,ink,0,1;point,C,,ink,0,2;point,P,,ink,0,3;polygon,ABC,A.B.C,elliptic,0,0"
    ";line,a,A.B,flat,0,0;parallels,b,a.P,hyperbolic,0,0;circle,c,C.P,gold,0,0"
)
CONSTRUCT = (
    "/?curvature=-0.8&major=1.2&minor=1.2&angle=0&shown=&second=poincare"
    f"&points=-0.6,-0.5,0;0.55,-0.45,0;-0.35,0.3,0;0.15,0.35,0&objects={OBJECTS}"
)
TILING = "/?shown=&second=poincare&points=&tiling=7,3,5,0.7&angle=0&major=1.1&minor=1.1"
LEARN = "/learn?data=balance&geometry=auto&model=neighbors"


def take(directory: Path = STATIC) -> None:
    """Write the pictures of docs/explorer.md."""
    with served() as address, browser(viewport={"width": 1280, "height": 760}) as context:
        page = open_page(context, address + PLANE)
        page.evaluate("localStorage.setItem('tour', 'seen')")
        visit(page, address + PLANE)
        page.mouse.move(*pixel(page, 0.35, 0.3))
        settle(page)
        page.screenshot(path=directory / "explorer-plane.png")
        for name, scene in (("construct", CONSTRUCT), ("tiling", TILING)):
            visit(page, address + scene)
            page.screenshot(path=directory / f"explorer-{name}.png")
        visit(page, address + "/?sheet=parallels")
        page.click("#sheet-check")
        settle(page)
        page.screenshot(path=directory / "explorer-worksheet.png")
        visit(page, address + "/?sheet=hierarchy")
        page.screenshot(path=directory / "explorer-map.png")
        visit(page, address + PLANE)
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
