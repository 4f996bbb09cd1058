"""Everything a visitor does, in a real browser. Skipped, with the reason, where there is none."""

import re
import urllib.parse

import numpy as np
import pytest
from tests.app.browser import (
    browser,
    drag,
    keep_address,
    open_page,
    pixel,
    points,
    reason_to_skip,
    served,
    settle,
    shapes,
    visit,
    window,
)

from cayleyklein.app._figures import Construction
from cayleyklein.app._measures import measured, polygon_measures
from cayleyklein.app._server import TOUR
from cayleyklein.app._state import CHART_NAMES, LAYERS, PlaneState
from cayleyklein.app._tools import TOOLS
from cayleyklein.app._views import View
from cayleyklein.datasets.loaders import SOURCES
from cayleyklein.geometry import circles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip())),
]

SCRIPT = "<img src=x onerror='hacked = 1'>"
LONG = "a class with a very long name that goes on and on"
GOOD = f"{SCRIPT},width,day,kind\n" + "".join(
    f"{i % 7 + 3 * (i % 2)},{i % 5 + 0.1 * i},2024-02-{i % 28 + 1:02d},{(SCRIPT, LONG)[i % 2]}\n"
    for i in range(60)
)
PLAIN = "/?curvature=-0.6"  # with any address the page stands still
BAD = "length,width,kind\n1,2,a\n3,4\n"


@pytest.fixture(scope="module")
def context():
    with browser() as opened:  # not for the session: its loop would stay in the way of others
        yield opened


@pytest.fixture(scope="module")
def tab(context, address):
    page = open_page(context, address + PLAIN)
    page.evaluate("localStorage.setItem('tour', 'seen')")
    yield page
    page.close()


@pytest.fixture
def plane(tab, address):
    yield visit(tab, address + PLAIN)
    assert tab.complaints == []


@pytest.fixture
def learn(tab, address):
    yield visit(tab, f"{address}/learn?data=wine&geometry=elliptic&model=neighbors")
    assert tab.complaints == []


def center(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# -- the plane ----------------------------------------------------------------------


def test_drag_undo_and_redo(plane):
    (x, y), before = points(plane)[0], shapes(plane)
    plane.mouse.move(*pixel(plane, x, y))
    plane.mouse.down()
    plane.mouse.move(*pixel(plane, x + 0.2, y), steps=3)
    settle(plane)
    assert shapes(plane) != before  # cells follow while the button is down
    plane.mouse.move(*pixel(plane, x + 0.3, y + 0.2), steps=2)
    plane.mouse.up()
    keep_address(plane)
    moved = points(plane)[0]
    assert moved == pytest.approx((x + 0.3, y + 0.2), abs=0.03)
    plane.mouse.dblclick(*pixel(plane, 0.05, 0.93))
    keep_address(plane)
    assert points(plane)[-1] == pytest.approx((0.05, 0.93), abs=0.02)
    plane.click("#undo")
    keep_address(plane)
    assert len(points(plane)) == 28
    plane.keyboard.press("Control+z")
    keep_address(plane)
    assert points(plane)[0] == pytest.approx((x, y), abs=1e-3)
    assert plane.is_disabled("#undo")
    plane.keyboard.press("Control+y")
    keep_address(plane)
    assert points(plane)[0] == moved
    plane.click("#redo")
    keep_address(plane)
    assert len(points(plane)) == 29
    plane.go_back()
    keep_address(plane)
    assert len(points(plane)) == 28
    plane.click("#reset")
    settle(plane)
    assert "Undo brings yours back" in plane.inner_text("#status")
    assert len(points(plane)) == 73  # those of the first picture


def test_a_drag_ends_where_it_was_dropped_though_another_follows(plane):
    spots = [points(plane)[i] for i in (0, 5)]
    # all while the server is busy with the first: commands of one kind may be thinned out
    plane.evaluate(
        """spots => {
          explorer.send({do: "next", by: 1});
          [0, 5].forEach((index, i) => {
            const [x, y] = spots[i];
            for (const part of [0.5, 1])
              explorer.send({do: "move", index, x: x + part * 0.1, y, view: 0, far: false}, "drag");
            explorer.send({do: "choose", index: 1});
          });
        }""",
        spots,
    )
    settle(plane)
    for i, (x, _) in zip((0, 5), spots, strict=True):
        assert points(plane)[i][0] == pytest.approx(x + 0.1, abs=1e-3)


def test_the_distances_follow_a_drag(plane):
    x, y = points(plane)[3]
    plane.mouse.move(*pixel(plane, x, y))
    plane.mouse.down()
    plane.mouse.move(*pixel(plane, x + 0.2, y), steps=3)
    settle(plane)
    x, y = points(plane)[3]
    assert plane.inner_text("#readout").startswith(f"point 4 = ({x:.3f}, {y:.3f}); d = ")
    plane.mouse.up()
    x, y = plane.evaluate("Array.from(explorer.views[0].handles)")[2:4]
    plane.mouse.move(*pixel(plane, x, y))
    plane.mouse.down()
    plane.mouse.move(*pixel(plane, 0.5 * x, 0.5 * y), steps=3)
    settle(plane)
    said = plane.inner_text("#readout").removeprefix("x = (").partition(",")[0]
    assert float(said) == pytest.approx(0.5 * x, abs=0.02)
    plane.mouse.up()


def test_handles_choosing_and_points(plane):
    handles = plane.evaluate("Array.from(explorer.views[0].handles)")
    start = handles[2], handles[3]
    drag(plane, pixel(plane, *start), pixel(plane, 0.7 * start[0], 0.7 * start[1]))
    assert float(plane.input_value("#major")) == pytest.approx(0.7 * 1.25, abs=0.03)
    plane.mouse.click(*pixel(plane, *points(plane)[3]))
    settle(plane)
    assert "chosen 4 and 1" in plane.inner_text("#count")
    plane.select_option("#label", label="F")
    plane.click("[data-do=add]")
    settle(plane)
    assert "29" in plane.inner_text("#count")
    assert plane.input_value("#label") == "5"
    plane.click("[data-do=delete]")
    plane.select_option("#scatter", "2000")
    plane.wait_for_function("() => explorer.views[0].points.length === 4000", timeout=5000)


def test_views_second_view_and_turning(plane):
    for chart in ("Poincaré", "Half-plane", "Hemisphere", "Hyperboloid"):
        plane.click(f".segments >> text={chart}")
        settle(plane)
        x, y = points(plane)[0]
        drag(plane, pixel(plane, x, y), pixel(plane, x + 0.1, y - 0.1))
        assert points(plane)[0] == pytest.approx((x + 0.1, y - 0.1), abs=0.05)
    assert "in Klein's view only" in plane.inner_text("#notes")
    before = points(plane)
    px, py = plane.locator("#view0").bounding_box()["x"] + 30, center(plane, "#view0")[1] + 200
    drag(plane, (px, py), (px + 100, py - 20))
    assert float(plane.input_value("#turn")) == pytest.approx(-40, abs=2)
    assert float(plane.input_value("#tilt")) == pytest.approx(30, abs=2)
    assert points(plane)[4] != before[4]
    plane.select_option("#second", "klein")
    settle(plane)
    x, y = points(plane, 1)[6]
    plane.mouse.move(*pixel(plane, x + 0.01, y, 1))
    settle(plane)
    assert "to point 7" in plane.inner_text("#readout")
    for view in (0, 1):
        assert plane.evaluate("i => explorer.views[i].over.length", view) == 3
    drag(plane, pixel(plane, x, y, 1), pixel(plane, x + 0.1, y, 1))
    assert points(plane, 1)[6][0] == pytest.approx(x + 0.1, abs=0.02)
    plane.select_option("#second", "")
    settle(plane)
    assert plane.is_hidden("#view1")


def test_the_slider_goes_through_zero_and_plays(plane):
    seen = []
    for value in (-0.5, -0.01, 0, 0.01, 1):
        plane.locator("#curvature").fill(str(value))
        settle(plane)
        seen.append(plane.inner_text("#geometry"))
    assert seen == ["hyperbolic"] * 2 + ["flat"] + ["elliptic"] * 2
    plane.click("#play")
    plane.wait_for_function("() => Number(document.querySelector('#curvature').value) < 0.9")
    plane.click("#play")
    keep_address(plane)
    stopped = plane.input_value("#curvature")
    assert f"curvature={float(stopped):g}" in plane.url
    x, y = center(plane, "#curvature")
    drag(plane, (x - 100, y), (x + 100, y), steps=20)
    keep_address(plane)
    assert f"curvature={float(plane.input_value('#curvature')):g}" in plane.url


def test_every_layer_can_be_shown(plane):
    for layer in LAYERS:
        plane.uncheck(f"[data-layer={layer}]")
    settle(plane)
    bare = shapes(plane)
    for layer in LAYERS:
        plane.check(f"[data-layer={layer}]")
        settle(plane)
        assert shapes(plane) != bare, layer
        if layer == "cross":
            assert "its logarithm" in plane.inner_text("#cross")
        plane.uncheck(f"[data-layer={layer}]")
        settle(plane)
        assert shapes(plane) == bare
    plane.check("[data-layer=balls]")
    plane.locator("#radius").fill("0.6")
    plane.check("[data-layer=cells]")
    plane.locator("#order").fill("3")
    settle(plane)
    assert "order 3" in plane.get_attribute("#view0", "aria-label")


def test_zoom_pan_and_fit(plane):
    whole = window(plane)
    plane.mouse.move(*center(plane, "#view0"))
    plane.set_viewport_size({"width": 1280, "height": 500})
    plane.mouse.wheel(0, 200)
    plane.wait_for_function("() => scrollY > 0")  # without the focus the page scrolls
    assert window(plane) == whole
    plane.set_viewport_size({"width": 1280, "height": 800})
    plane.focus("#view0")
    plane.mouse.wheel(0, -240)
    settle(plane)
    near = window(plane)
    assert near[2] - near[0] < 0.95 * (whole[2] - whole[0])
    x, y = pixel(plane, -1.0, 0.6)
    drag(plane, (x, y), (x + 60, y + 30))
    panned = window(plane)
    assert panned[0] < near[0]
    assert panned[1] > near[1]
    plane.keyboard.press("0")
    assert window(plane) == pytest.approx(whole)
    plane.click("[aria-label='Zoom in']")
    plane.click("[aria-label='Zoom in']")
    plane.click("[aria-label='Zoom out']")
    assert window(plane)[2] == pytest.approx(whole[2] / 1.25)
    plane.click("#fit")
    assert window(plane) == pytest.approx(whole)


def test_the_whole_follows_the_curvature_until_moved(plane):
    plane.click(".segments >> text=Half-plane")
    plane.locator("#curvature").fill("1")
    settle(plane)
    assert window(plane) == pytest.approx([-2.6, -2.6, 2.6, 2.6])
    plane.click("[aria-label='Zoom in']")
    near = window(plane)
    plane.locator("#curvature").fill("-1")
    settle(plane)
    assert window(plane) == near
    plane.click("#fit")
    assert window(plane)[1] == pytest.approx(-1.5)


def test_keyboard_only(plane):
    plane.focus("#skip-link" if plane.locator("#skip-link").count() else ".skip")
    for _ in range(16):
        plane.keyboard.press("Tab")
        if plane.evaluate("document.activeElement.id") == "view0":
            break
    assert plane.evaluate("document.activeElement.id") == "view0"
    x, y = points(plane)[0]
    for key in "np":
        plane.keyboard.press(key)
    settle(plane)
    assert plane.inner_text("#readout").startswith(f"point 1 = ({x:.3f}, {y:.3f}); d = ")
    assert plane.get_attribute("#readout", "aria-live") == "polite"
    for key in ("ArrowRight", "ArrowUp", "+", "n", "a", "3", "]"):
        plane.keyboard.press(key)
    settle(plane)
    assert points(plane)[0][0] > x
    assert points(plane)[0][1] > y
    assert plane.input_value("#k") == "-0.55"
    assert plane.inner_text("#count").startswith("29, chosen 29")
    plane.keyboard.press("Delete")
    settle(plane)
    assert plane.inner_text("#count").startswith("28")
    plane.mouse.move(*pixel(plane, -1.55, 1.4))
    settle(plane)
    assert "Outside" in plane.inner_text("#readout")


def test_reload_from_the_address(plane, context, address):
    plane.click(".segments >> text=Poincaré")
    plane.locator("#curvature").fill("0.4")
    plane.check("[data-layer=delaunay]")
    keep_address(plane)
    before = points(plane)
    assert "chart=poincare" in urllib.parse.urlsplit(plane.url).query
    plane.reload()
    plane.wait_for_selector("body[data-ready=yes]")
    settle(plane)
    assert points(plane) == before
    assert plane.inner_text("#geometry") == "elliptic"
    assert plane.is_checked("[data-layer=delaunay]")
    other = open_page(context, f"{address}/?curvature=nonsense")
    assert "not understood" in other.inner_text("#status")
    assert other.inner_text("#geometry") == "hyperbolic"  # visitors share nothing
    other.close()


def test_a_lost_connection_comes_back_with_the_state(context, address):
    page = context.new_page()
    page.add_init_script(
        """window.sockets = [];
        const Plain = window.WebSocket;
        window.WebSocket = class extends Plain {
          constructor(...given) { super(...given); window.sockets.push(this); }
        };"""
    )
    page.complaints = []
    visit(page, address + PLAIN)
    page.locator("#curvature").fill("0.9")
    settle(page)
    page.evaluate("() => { window.old = true; window.sockets.forEach(s => s.close()); }")
    page.wait_for_selector("#status >> text=Try now")
    page.wait_for_function("() => !window.old && document.body.dataset.ready === 'yes'")
    settle(page)
    assert page.inner_text("#geometry") == "elliptic"
    assert page.text_content("#status") == ""
    page.close()


def test_a_fit_comes_back_with_a_server_that_was_started_again(context, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{'uv'[i % 2]}\n" for i in range(60)))
    with served() as first:
        page = open_page(context, f"{first}/learn?data=balance&model=neighbors&geometry=flat")
        page.set_input_files("#csv", file)
        page.wait_for_selector("#table >> text=60 rows, 2 classes")
        page.click("[data-do=fit]")
        page.wait_for_selector("body[data-fitted][data-running=no]", timeout=60_000)
        said = page.inner_text("#headline")
    page.wait_for_selector("#status >> text=The page comes back")
    assert page.inner_text("#headline") == said  # results stay meanwhile
    page.evaluate("delete document.body.dataset.fitted; document.body.dataset.running = 'yes'")
    with served(port=urllib.parse.urlsplit(first).port):
        page.wait_for_selector("body[data-fitted][data-running=no]", timeout=60_000)
        settle(page)
        assert page.inner_text("#table") == "60 rows, 2 classes"
        assert page.input_value("#geometry") == "flat"
        assert page.inner_text("#headline") == said
        assert page.text_content("#status") == ""
        page.close()


def test_k_is_typed_and_a_new_drawing_begun(plane, address):
    visit(plane, address + TRIANGLE)
    keep_address(plane)
    plane.fill("#k", "0.35")
    plane.press("#k", "Enter")
    settle(plane)
    assert plane.inner_text("#geometry") == "elliptic"
    assert state_of(plane).curvature == 0.35
    plane.fill("#k", "-7")
    plane.press("#k", "Enter")
    settle(plane)
    assert state_of(plane).curvature == -1
    keep_address(plane)
    plane.click("#clear")
    keep_address(plane)
    assert state_of(plane).points == ()
    assert state_of(plane).curvature == -1
    plane.click("#undo")
    keep_address(plane)
    assert len(state_of(plane).points) > 0


@pytest.mark.parametrize("chart", ["klein", "half-plane", "hemisphere"])
def test_a_midpoint_leaves_a_trace(plane, address, chart):
    objects = "point,A,,ink,0,0;point,B,,ink,0,1;midpoint,M,A.B,gold,0,0"
    query = f"points=-0.3,-0.2,0;0.4,-0.1,0&objects={objects}&shown=&curvature=-0.6&chart={chart}"
    visit(plane, f"{address}/?{query}")
    plane.click("[data-name=M] [data-part=color]")
    plane.click("[data-name=M] [data-part=trace]")
    settle(plane)
    assert plane.get_attribute("[data-name=M] [data-part=trace]", "aria-pressed") == "true"
    for K in ("-0.3", "0", "0.4"):
        plane.fill("#k", K)
        plane.press("#k", "Enter")
        settle(plane)
    start = pixel(plane, *points(plane)[1])
    drag(plane, start, (start[0], start[1] - 60), steps=6)
    dots = plane.evaluate(
        """explorer.views[0].shapes.filter(s => s.color === 'gold' && s.size === 2)
             .map(s => [...s.xy])"""
    )
    assert sum(len(xy) for xy in dots) >= 8
    assert plane.complaints == []


def test_a_link_that_holds_a_worksheet(plane, context, address):
    text = "---\ntitle: Größe ∠\n---\nBend <b>it</b>.\n\n- right if `K > 0`: Right.\n- else: No.\n"
    plane.evaluate(
        """text => {
          const files = new DataTransfer();
          files.items.add(new File([text], "mine.md"));
          document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, dataTransfer: files}));
        }""",
        text,
    )
    plane.wait_for_selector("#sheet-title >> text=Größe ∠")
    plane.evaluate("navigator.clipboard.writeText = async text => { window.kept = text; }")
    plane.click("#sheet-link")
    link = plane.wait_for_function("() => window.kept").json_value()
    assert link.startswith(f"{address}/#worksheet=")
    other = open_page(context, link)
    settle(other)
    assert other.inner_text("#sheet-title") == "Größe ∠"
    assert other.inner_text("#sheet-question") == "Bend <b>it</b>."
    other.close()
    broken = open_page(context, f"{address}/#worksheet={'A' * 40}")
    settle(broken)
    assert "must begin with a header" in broken.inner_text("#status")
    broken.close()


EXPORTS = {
    "SVG": b"<svg",
    "PNG": b"\x89PNG",
    "CSV": b"x,y,class",
    "JSON": b"{",
    "Python": b"from",
    "HTML": b"<!DOCTYPE html>",
}


def test_exports_and_the_page_without_a_server(plane, context, tmp_path):
    for button, start in EXPORTS.items():
        with plane.expect_download() as waiting:
            plane.click(f"fieldset .row >> text={button} >> visible=true")
        kept = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(kept)
        assert kept.read_bytes().startswith(start)
    check_offline_page(context.new_page(), tmp_path / "plane.html")


FLAT = "p => [p[0] / p[2], p[1] / p[2]]"  # z of a lift


def check_offline_page(page, path):
    """Compare the views and the isometries of a saved page with those of the package."""
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    assert page.inner_text("#value") == "−0.60"
    x = np.array([[0.1, 0.2], [-0.4, 0.3], [0.5, -0.3]])
    for K in (-0.6, 0.0, 0.7):
        index = page.evaluate("K => frames.findIndex(f => Math.abs(f.K - K) < 1e-9)", K)
        page.locator("#K").fill(str(index))
        metric = PlaneState(curvature=K).metric
        z = metric.coordinates(x).tolist()
        for name in ("klein", "poincare", "half-plane"):
            page.check(f"input[value={name}]")
            seen = page.evaluate(
                "([z, name, K]) => z.map(p => see(lift(...p, K), name, K))", [z, name, K]
            )
            assert np.array(seen) == pytest.approx(View(metric, name).to_screen(x), abs=1e-9)
            back = page.evaluate(
                f"([s, name, K]) => s.map(p => unsee(...p, name, K)).map({FLAT})",
                [seen, name, K],
            )
            assert np.array(back) == pytest.approx(np.array(z), abs=1e-9)
            box = page.locator("canvas").bounding_box()
            middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(*middle)
            page.mouse.down()
            page.mouse.move(middle[0] + 30, middle[1] - 40, steps=3)
            page.mouse.up()
            moved = page.evaluate(
                f"([z, K]) => z.map(p => apply(moved, lift(...p, K))).map({FLAT})",
                [z, K],
            )
            places = metric.points(np.array(moved))
            assert metric.pairwise(places, places) == pytest.approx(metric.pairwise(x, x))
            assert np.abs(places - x).max() > 0.02
            page.click("#back")
    assert faults == []
    page.close()


def test_dark(plane):
    before = plane.evaluate("explorer.color('ink')")
    plane.click("#theme")
    assert plane.evaluate("explorer.color('ink')") != before
    assert "theme=dark" in plane.get_attribute("[data-export='plane.svg']", "href")
    plane.select_option("#sheets", "angle-sum")
    settle(plane)
    assert (
        plane.evaluate("getComputedStyle(document.querySelector('#sheet')).backgroundColor")
        == "rgb(21, 24, 28)"
    )
    plane.click("#theme")
    assert plane.evaluate("explorer.color('ink')") == before


@pytest.mark.parametrize("path", [PLAIN, "/learn"])
def test_names_help_and_a_phone(context, address, path):
    page = open_page(context, address + path)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a, summary")].filter(e =>
             !(e.closest("[hidden]") || e.getAttribute("aria-label") || e.labels?.length ||
               e.textContent.trim())
           ).map(e => e.outerHTML)"""
    )
    assert nameless == []
    unhelped = page.evaluate(
        """() => [...document.querySelectorAll("input, select, .construct button")].filter(e =>
             !e.closest("[data-help]") && !e.closest("fieldset")?.querySelector("[data-help]") &&
             !e.closest("#prompt-row, .results")).map(e => e.outerHTML)"""
    )
    assert unhelped == []
    page.click("#help")
    place = page.locator("fieldset[data-help], .field[data-help]").first
    place.hover()
    assert page.inner_text("#help-text") == place.get_attribute("data-help")
    before = page.evaluate("explorer.query()")
    for box in page.locator("select:visible, button[data-do]:visible").all()[:4]:
        box.click()  # tells, and does nothing
    settle(page)
    assert page.evaluate("explorer.query()") == before
    page.keyboard.press("Escape")
    assert page.is_hidden("#help-text")
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("header").bounding_box()["height"] < 60  # one row
    if path == PLAIN:
        assert page.locator("#view0").bounding_box()["y"] < 190  # the drawing comes first
        assert page.is_hidden("#tools")
        page.click("#tools-open")
        page.click("[data-tool=circle]")
        assert page.is_hidden("#tools")
        settle(page)
        assert page.inner_text("#tool-name") == "Circle"
        page.click("#more")
        page.select_option("#sheets", "circles")
        settle(page)
        assert page.is_hidden("#menu")
        assert page.inner_text("#sheet-title") == "Circles that grow too fast"
    assert page.complaints == []
    page.close()


def test_the_tour(tab, context, address):
    tab.evaluate("localStorage.removeItem('tour')")
    page = visit(tab, address + PLAIN)
    assert page.is_visible("#hint")
    page.focus("#hint-tour")
    page.keyboard.press("Enter")
    seen = []
    for i, step in enumerate(TOUR):
        settle(page)
        assert page.inner_text("#tour-title") == step["title"]
        assert page.inner_text("#tour-count") == f"{i + 1} of 8"
        assert page.inner_text("#tour-formula") == step["formula"]
        assert page.get_attribute("#tour-paper", "href").startswith("https://arxiv.org/pdf/")
        assert page.evaluate("document.activeElement.id") == "tour-title"
        picture = shapes(page)
        seen.append(picture)
        if "after" in step:
            page.click("#tour-after")
            settle(page)
            assert shapes(page) != picture
            assert page.inner_text("#geometry") == "elliptic"
        if "play" in step:
            page.click("#tour-play")
            page.wait_for_function(
                "() => Number(document.querySelector('#curvature').value) > -0.6"
            )
        if i == 1:
            with context.expect_page() as opened:
                page.click("#tour-reference")
            assert "cross-ratio" in opened.value.inner_text("body")
            opened.value.close()
            page.bring_to_front()
        page.focus("#tour-next")
        page.keyboard.press("Enter")
    assert len(set(seen)) == 8
    assert page.is_hidden("#tour")
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    assert page.is_hidden("#hint")
    page.click("#start-tour")
    assert page.is_visible("#tour")
    page.keyboard.press("Escape")
    assert page.is_hidden("#tour")
    assert page.complaints == []


def test_a_step_of_the_tour_goes_with_its_picture(plane):
    plane.click("#start-tour")
    settle(plane)
    whole = window(plane)
    drag(plane, pixel(plane, -1.5, 1.4), pixel(plane, -1.0, 1.2))
    assert window(plane) != pytest.approx(whole)
    keep_address(plane)
    seen = [shapes(plane)]
    for _ in range(2):
        plane.click("#tour-next")
        keep_address(plane)
        assert window(plane) == pytest.approx(whole)  # each step shows the whole
        seen.append(shapes(plane))
    for step in (1, 0):
        plane.click("#undo")
        keep_address(plane)
        assert shapes(plane) == seen[step]
        assert plane.inner_text("#tour-title") == TOUR[step]["title"]
    plane.click("#undo")
    keep_address(plane)
    assert plane.is_hidden("#tour")
    plane.click("#redo")
    keep_address(plane)
    assert plane.inner_text("#tour-title") == TOUR[0]["title"]
    plane.reload()
    plane.wait_for_selector("body[data-ready=yes]")
    settle(plane)
    assert plane.inner_text("#tour-title") == TOUR[0]["title"]


# -- constructions ------------------------------------------------------------------

TRIANGLE = "/?curvature=-0.7&shown=&points=-0.5,-0.3,0;0.45,-0.2,0;0.1,0.5,0;-0.3,0.4,0"
A, B, C, D = (-0.5, -0.3), (0.45, -0.2), (0.1, 0.5), (-0.3, 0.4)
CLICKS = {  # where each tool is clicked, after the line a through A and B
    "point": [D],
    "segment": [A, C],
    "line": [C, D],
    "circle": [A, C],
    "ball": [C],  # whose slider is made with it
    "polygon": [A, B, C, A],
    "midpoint": [A, C],
    "perpendicular": ["a", C],
    "angle": [A, B, C],
    "bisector": [A, B, C],
    "reflection": [C, "a"],
    "parallels": ["a", C],
    "horocycle": [A, C],
    "equidistant": ["a", C],
    "meet": ["a", "b"],
}
ON_LINE = {"a": (-0.15, -0.263158), "b": (-0.1, 0.45)}


def state_of(page):
    from cayleyklein.app._state import PlaneState

    return PlaneState.from_query(page.evaluate("explorer.query()"))


def measures(page):
    rows = page.locator(".object").all()
    return {r.get_attribute("data-name"): r.locator(".measure").text_content() for r in rows}


def click_at(page, place, click=None):
    spot = pixel(page, *(ON_LINE[place] if isinstance(place, str) else place))
    (click or page.mouse.click)(*spot)
    settle(page)


def test_every_tool_measures_as_the_library_does(plane, address):
    assert set(CLICKS) | set(MORE_CLICKS) == set(TOOLS)
    visit(plane, address + TRIANGLE)
    for kind, clicks in [("line", [A, B]), *CLICKS.items()]:
        plane.click(f"[data-tool={kind}]")
        settle(plane)
        assert plane.is_visible("#prompt")
        for place in clicks:
            click_at(plane, place)
    state = state_of(plane)
    assert {figure.kind for figure in state.objects} == {*CLICKS, "number"}
    assert len(state.points) == 4
    told = check_measures(plane)
    plane.keyboard.press("Escape")
    plane.click("[data-tool=hand]")
    settle(plane)
    (name,) = (figure.name for figure in state.objects if figure.kind == "polygon")
    drag(plane, pixel(plane, *C), pixel(plane, 0.2, 0.7))
    assert measures(plane)[name] != told[name]  # what is constructed moves with its points
    plane.click("[data-tool=move]")
    settle(plane)
    keep_address(plane)
    now = measures(plane)[name]
    drag(plane, pixel(plane, 0.0, -0.6), pixel(plane, 0.1, -0.5))
    assert state_of(plane).coordinates[0] != pytest.approx(A, abs=0.01)
    same = [float(x) for x in re.findall(r"\d+[.]\d+", measures(plane)[name])]
    assert same == pytest.approx([float(x) for x in re.findall(r"\d+[.]\d+", now)], abs=0.01)
    keep_address(plane)
    plane.click("#undo")
    keep_address(plane)
    assert measures(plane)[name] == now
    plane.focus(".object[data-name=A] [data-part=name]")
    plane.click(".object[data-name=A] [data-part=remove]")
    settle(plane)
    assert plane.inner_text("#status").startswith("A is gone, and with it")


def check_measures(page):
    """Compare the list of objects with the package's numbers; return what is told."""
    state = state_of(page)
    made = Construction(state.objects, state.coordinates, state.metric)
    told = measures(page)
    for figure in state.objects:
        assert told[figure.name] == f"{TOOLS[figure.kind].title}: {measured(made, figure)}"
    return told


MORE_CLICKS = {  # a place on the circle c around A and on the circle d around B is a number
    "on": [1.0],
    "mediator": [A, C],
    "compass": [A, D, C],
    "meet": [1.0, -2.0],
    "tangent": [(0.5, 0.3), 1.0],
    "reach": [C, D, (0.3, 0.1)],
    "distance": [A, C],
    "number": [],
    "note": [C],
    "locus": ["E", "F"],
}
CIRCLES = (
    "point,A,,ink,0,0;point,B,,ink,0,1;point,C,,ink,0,2;point,D,,ink,0,3;"
    "circle,c,A.C,ink,0,0;circle,d,B.D,gold,0,0"
)


@pytest.mark.parametrize("chart", ["klein", "poincare", "hemisphere"])
def test_circles_meet_touch_and_carry_points_in_every_view(plane, address, chart):
    visit(plane, f"{address}{TRIANGLE}&chart={chart}&tilt=80&objects={CIRCLES}")
    state = state_of(plane)
    view = View(state.metric, chart, 0, 80)
    made = Construction(state.objects, state.coordinates, state.metric)

    def spot(place):
        if isinstance(place, float):  # an angle on c, or on d if it is negative
            circle = made.places["c" if place > 0 else "d"]
            place = circles.point_at(circle.center, circle.radius, place, state.metric)
        return view.to_screen(np.array(place))

    for kind, clicks in MORE_CLICKS.items():
        plane.click(f"[data-tool={kind}]")
        settle(plane)
        if kind == "locus":
            objects = f"{state_of(plane).objects_text};midpoint,F,E.B,ink,0,0"
            plane.evaluate("o => explorer.send({do: 'set', values: {objects: o}})", objects)
        for place in clicks:
            if isinstance(place, str):
                plane.select_option("#candidates", place)
            else:
                plane.mouse.click(*pixel(plane, *spot(place)))
            settle(plane)
    told = check_measures(plane)
    state = state_of(plane)
    assert {figure.kind for figure in state.objects} >= set(MORE_CLICKS)
    now = Construction(state.objects, state.coordinates, state.metric)
    c, d = now.places["c"], now.places["d"]
    for figure, x in now.placed("meet").items():
        assert state.metric.distance(c.center, x) == pytest.approx(c.radius), figure
        assert state.metric.distance(d.center, x) == pytest.approx(d.radius), figure
    assert "touches c" in told[next(f.name for f in state.objects if f.kind == "tangent")]
    # the point on the circle stays there while it is dragged
    start = view.to_screen(now.places["E"])
    plane.click("[data-tool=hand]")
    settle(plane)
    drag(plane, pixel(plane, *start), pixel(plane, *spot(2.0)))
    state = state_of(plane)
    now = Construction(state.objects, state.coordinates, state.metric)
    assert state.metric.distance(c.center, now.places["E"]) == pytest.approx(c.radius)
    (value,) = (f.value for f in state.objects if f.kind == "on")
    assert value == pytest.approx(2.0, abs=0.05)


def test_a_slider_is_bound_to_a_radius(plane, address):
    visit(plane, address + TRIANGLE)
    plane.click("[data-tool=ball]")
    settle(plane)
    click_at(plane, A)
    (number,) = (f for f in state_of(plane).objects if f.kind == "number")
    plane.locator(f".object[data-name={number.name}] input[type=range]").fill("0.7")
    settle(plane)
    told = check_measures(plane)
    (circle,) = (f.name for f in state_of(plane).objects if f.kind == "ball")
    assert "r = 0.7000" in told[circle]


def test_the_construction_replays_and_its_table_is_copied(plane, address, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(plane, f"{address}{TRIANGLE}&objects={CIRCLES};segment,s,A.B,flat,0,0")
    whole = shapes(plane)
    plane.locator("#replay").fill("4")
    settle(plane)
    assert '"line","gold"' not in shapes(plane)
    assert plane.inner_text("#replay-text") == "4 of 7: Point D"
    plane.click("[data-replay='1']")
    settle(plane)
    assert "Circle c, from A, C" in plane.inner_text("#replay-text")
    plane.locator("#replay").fill("7")
    settle(plane)
    assert shapes(plane) == whole
    plane.click("#copy-table")
    settle(plane)
    copied = plane.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0] == "name\tobject\tmade from\tmeasure"
    assert copied[-1].startswith("s\tSegment\tA B\tlength ")


def test_objects_light_up_and_measures_are_pinned(plane, address):
    visit(plane, f"{address}{TRIANGLE}&objects={CIRCLES};segment,s,A.B,flat,0,0")
    assert '"gold",[' in shapes(plane)
    before = shapes(plane).count('"line","gold"')
    plane.hover(".object[data-name=s] .measure")
    settle(plane)
    assert shapes(plane).count('"line","gold"') == before + 1
    plane.mouse.move(*center(plane, "#headline"))
    settle(plane)
    assert shapes(plane).count('"line","gold"') == before
    plane.click(".object[data-name=s] [data-part=pinned]")
    settle(plane)
    words = plane.evaluate(
        "explorer.views[0].shapes.filter(s => s.kind === 'words').flatMap(s => s.text)"
    )
    state = state_of(plane)
    x = state.coordinates
    assert f"s = {state.metric(x[0], x[1]):.3f}" in words
    plane.click("[data-group=lines] [data-part=group]")
    settle(plane)
    assert '"line","flat"' not in shapes(plane)


def test_the_first_picture_moves_until_touched(tab, address):
    tab.emulate_media(reduced_motion="no-preference")
    tab.goto(address)
    assert tab.locator(".still path").count() > 20  # drawn before any script runs
    tab.wait_for_selector("body[data-ready=yes]")
    tab.wait_for_function("() => Number(document.querySelector('#curvature').value) > -0.85")
    assert tab.inner_text("#headline").startswith("The angles of triangle ABC add up to")
    tab.mouse.click(*center(tab, "#headline"))
    settle(tab)
    stopped = tab.input_value("#curvature")
    tab.wait_for_timeout(300)
    assert tab.input_value("#curvature") == stopped
    tab.emulate_media(reduced_motion="reduce")
    tab.goto(address)
    tab.wait_for_selector("body[data-ready=yes]")
    tab.wait_for_timeout(400)
    assert tab.input_value("#curvature") == "-0.9"
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    tab.emulate_media(reduced_motion="no-preference")


def test_labels_keep_clear_of_each_other_and_of_points(plane, address):
    for chart in ("klein", "poincare", "half-plane", "hemisphere"):
        visit(plane, f"{address}{TRIANGLE}&chart={chart}&objects={CIRCLES};line,l,A.B,ink,0,0")
        plane.wait_for_timeout(200)  # until the page has told its size
        settle(plane)
        places = plane.evaluate(
            """() => {
              const view = explorer.views[0];
              return view.shapes.filter(s => s.kind === "words").map(s => {
                const [x, y] = view.toPixel(s.xy[0], s.xy[1]), wide = 4.5 * s.text[0].length;
                return [x + s.shift[0] - wide, y + s.shift[1] - 9, wide, s.text[0]];
              });
            }"""
        )
        assert {place[3] for place in places} == {"A", "B", "C", "D", "c", "d", "l"}
        for i, (x, y, wide, _) in enumerate(places):
            for u, v, other, _ in places[:i]:
                apart = abs(x + wide - u - other) >= wide + other - 0.5 or abs(y - v) >= 17.5
                assert apart, chart
            for px, py in points(plane):
                qx, qy = plane.evaluate("p => explorer.views[0].toPixel(...p)", [px, py])
                assert not (x < qx < x + 2 * wide and y < qy < y + 18)


def test_a_worksheet_of_ones_own(plane, address):
    start = "curvature=0&major=1&minor=1&shown=&points=0,0,0;0.6,0,0"
    start += "&objects=point,A,,ink,0,0;point,B,,ink,0,1"
    text = """---
title: My own
start: START
---
## Longer
Make s longer than 1.
> Drag B.
- right if `length("s") > 1`: Yes, {length("s"):.2f}.
- else: It is {length("s"):.2f}.
## Curved
Bend the plane.
- right if `K != 0`: K is {K:.2f}.
- else: K is 0.
""".replace("START", f"{start};segment,s,A.B,ink,0,0")
    plane.evaluate("text => explorer.send({do: 'own_sheet', content: text})", text)
    settle(plane)
    assert plane.inner_text("#sheet-title") == "My own (1 of 2): Longer"
    plane.click("#sheet-check")
    settle(plane)
    assert plane.inner_text("#verdict") == "It is 0.60."
    drag(plane, pixel(plane, 0.6, 0), pixel(plane, 1.2, 0))
    plane.click("#sheet-check")
    settle(plane)
    assert plane.get_attribute("#verdict", "data-right") == "yes"
    plane.click("#sheet-next")
    assert plane.inner_text("#sheet-question") == "Bend the plane."
    visit(plane, f"{address}/?sheet=squares")
    assert plane.inner_text("#sheet-title") == "Squares that do not exist"


def test_a_tree_that_is_dropped_is_moved_and_begun_again(plane):
    plane.evaluate(
        """text => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text], "pets.nwk"));
          document.dispatchEvent(new DragEvent("drop", {dataTransfer, cancelable: true}));
        }""",
        "((lion:6,tiger:6)cats:40,(wolf:2,dog:2)dogs:44)carnivores;",
    )
    plane.wait_for_selector("#sheet:not([hidden])")
    settle(plane)
    assert plane.inner_text("#sheet-title") == "Your map"
    assert not plane.is_visible("#sheet-link")
    begun = state_of(plane)
    assert len(begun.edges) == 6
    assert shapes(plane).count('"words"') == 7
    plane.click("[data-tool=move]")
    drag(plane, pixel(plane, 0, 0), pixel(plane, -0.5, 0.2))
    moved = state_of(plane)
    assert moved.points != begun.points
    assert (moved.edges, moved.names) == (begun.edges, begun.names)
    plane.click("#sheet-again")
    settle(plane)
    assert state_of(plane) == begun


def test_objects_are_listed_renamed_coloured_and_hidden(plane, address):
    visit(
        plane,
        f"{address}{TRIANGLE}&objects=point,A,,ink,0,0;point,B,,ink,0,1;segment,s,A.B,ink,0,0",
    )
    plane.fill(".object[data-name=s] [data-part=name]", "side")
    plane.keyboard.press("Enter")
    settle(plane)
    plane.click(".object[data-name=side] [data-part=color]")
    plane.click(".object[data-name=side] [data-hue=gold]")
    settle(plane)
    shown = shapes(plane)
    assert '"line","gold"' in shown
    plane.click(".object[data-name=side] [data-part=hidden]")
    settle(plane)
    assert '"line","gold"' not in shapes(plane)
    assert state_of(plane).objects[-1].text == "segment,side,A.B,gold,1,0"


def test_tilings_and_worksheets(plane):
    plane.select_option("#tiling", "7,3")
    settle(plane)
    assert plane.inner_text("#geometry") == "hyperbolic"
    plane.locator("#tile-edge").fill("0.8")
    settle(plane)
    assert state_of(plane).curvature == pytest.approx(-0.501, abs=0.001)
    plane.select_option("#sheets", "squares")
    settle(plane)
    plane.click("#sheet-check")
    settle(plane)
    assert plane.get_attribute("#verdict", "data-right") == "no"
    plane.locator("#curvature").fill("0")
    plane.click("#sheet-check")
    settle(plane)
    assert plane.get_attribute("#verdict", "data-right") == "yes"
    plane.click("#sheet-next")
    settle(plane)
    plane.click("#sheet-choices >> text=Voronoi cells")
    settle(plane)
    assert plane.inner_text("#verdict").startswith("Right")


def test_a_construction_by_the_keyboard_only(plane, address):
    visit(plane, address + TRIANGLE)
    plane.focus("[data-tool=hand]")
    for _ in range(5):
        plane.keyboard.press("ArrowDown")
    plane.keyboard.press("Enter")  # the segment
    settle(plane)
    plane.focus("#view0")
    for key in ("Enter", "n", "Enter"):
        plane.keyboard.press(key)
        settle(plane)
    (segment,) = [f for f in state_of(plane).objects if f.kind == "segment"]
    x = state_of(plane).coordinates
    assert measures(plane)[segment.name].endswith(f"{state_of(plane).metric(x[0], x[1]):.4f}")


@pytest.mark.parametrize("width", [820, 390])
def test_tools_by_touch(context, address, width):
    page = context.new_page()
    page.complaints = []
    fingers = context.new_cdp_session(page)
    fingers.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def tap(x, y):
        for kind, spots in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    page.set_viewport_size({"width": width, "height": 1180})
    visit(page, address + TRIANGLE)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, select, a.button, .check label, summary")]
             .filter(e => e.offsetParent && Math.min(e.offsetHeight, e.offsetWidth) < 32)
             .map(e => `${e.offsetWidth} x ${e.offsetHeight} ${e.outerHTML.slice(0, 90)}`)"""
    )
    assert small == []
    if width < 700:
        tap(*center(page, "#tools-open"))
    page.locator("[data-tool=polygon]").scroll_into_view_if_needed()
    tap(*center(page, "[data-tool=polygon]"))
    settle(page)
    for place in (A, B, C, A):
        click_at(page, place, tap)
    state = state_of(page)
    found = polygon_measures(state.coordinates[:3], state.metric)
    assert f"area {found['area']:.4f}" in measures(page)["ABC"]
    assert page.complaints == []
    page.close()


def test_two_fingers_zoom_and_turn(context, address):
    page = open_page(context, f"{address}{PLAIN}&chart=klein&second=")
    fingers = context.new_cdp_session(page)
    fingers.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = pixel(page, 0, 0)

    def touch(kind, *spots):
        places = [{"x": a, "y": b, "id": i} for i, (a, b) in enumerate(spots)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    before = window(page)
    touch("touchStart", (x - 40, y))
    touch("touchStart", (x - 40, y), (x + 40, y))
    for i in range(1, 11):
        touch("touchMove", (x - 40 - 4 * i, y - 2 * i), (x + 40 + 4 * i, y + 2 * i))
    touch("touchEnd")
    settle(page)
    after = window(page)
    zoomed = (before[2] - before[0]) / (after[2] - after[0])
    assert zoomed == pytest.approx(np.hypot(160, 40) / 80, rel=0.01)
    turned = page.evaluate("explorer.views[0].angle")
    assert abs(turned) == pytest.approx(np.arctan2(40, 160), rel=0.01)
    assert np.add(after[:2], after[2:]) == pytest.approx([0, 0], abs=0.05)  # the middle stays
    page.close()


def test_the_slider_goes_with_the_first_picture(context, address):
    page = context.new_page()
    page.goto(f"{address}/")
    page.wait_for_selector("body[data-ready=yes]")
    page.wait_for_function("() => explorer.plane.answer.state?.curvature > -0.85")
    shown = page.evaluate("['#k', '#curvature'].map(s => Number(document.querySelector(s).value))")
    assert min(shown) > -0.9
    page.close()


def test_a_sign_that_the_first_picture_is_loading(plane):
    sign = "getComputedStyle(document.querySelector('#view0'), '::after').content"
    assert plane.evaluate(sign) == "none"
    plane.evaluate("delete document.body.dataset.ready")
    assert plane.evaluate(sign) == '"Loading…"'
    plane.evaluate("document.body.dataset.ready = 'yes'")


# -- learning -----------------------------------------------------------------------


def ended(page):
    page.wait_for_selector("body[data-running=no]", timeout=60_000)
    settle(page)
    return page.inner_text("#state")


def start(page, button="fit"):
    """Start a fit and wait until it runs, or has run: a quick one may be over at once."""
    page.evaluate(
        """() => {
             window.began = false;
             const watch = new MutationObserver(() => { window.began = true; });
             watch.observe(document.body, {attributeFilter: ["data-running"]});
           }"""
    )
    page.click(f"[data-do={button}]")
    page.wait_for_function("() => window.began")


def test_fit_and_its_results(learn, context, tmp_path):
    assert learn.locator("#preview tbody tr").count() == 5
    assert learn.locator("#legend li").all_inner_texts() == ["1\n59", "2\n71", "3\n48"]
    start(learn)
    assert ended(learn) == "Done."
    for place in ("before", "flat", "curved"):
        assert "of test rows right" in learn.inner_text(f"#about-{place}")
    assert "iteration" in learn.text_content("#live")
    counts = [int(cell) for cell in learn.locator("#confusion td").all_inner_texts()]
    assert sum(counts) == 54  # three tenths of 178 rows
    assert "load_problem('wine')" in learn.inner_text("#code")
    bars = learn.locator("#weights .bar").all_inner_texts()
    assert len(bars) == 13
    assert sum(float(bar.split()[-2]) for bar in bars) == pytest.approx(100, abs=1)
    curved = "explorer.pictures[2]"
    x, y = learn.evaluate(f"{curved}.toPixel({curved}.points[20], {curved}.points[21])")
    box = learn.locator("#picture-curved").bounding_box()
    learn.mouse.move(box["x"] + x, box["y"] + y)
    assert "Nearest training rows: row " in learn.inner_text("#row")
    assert learn.evaluate(f"{curved}.over.length") == 2
    with learn.expect_download(timeout=60_000) as waiting:
        start(learn, "model")
    waiting.value.save_as(tmp_path / "wine.ckm")
    from cayleyklein.tables import load_model

    assert load_model(tmp_path / "wine.ckm").target_ == "class"
    assert waiting.value.suggested_filename == "wine.ckm"
    with context.expect_page() as opened:
        learn.click("#planes a")
    beside = opened.value  # the fit stays where it is
    beside.wait_for_selector("body[data-page=plane][data-ready=yes]")
    settle(beside)
    assert beside.inner_text("#geometry") == "elliptic"
    assert len(points(beside)) == 178
    beside.click("#learn")
    beside.wait_for_selector("body[data-page=learn][data-ready=yes]")
    settle(beside)
    assert beside.inner_text("#table") == "178 rows, 3 classes"
    beside.close()
    assert learn.inner_text("#state").startswith("The model is saved")
    assert learn.is_visible("#curve-roc")
    learn.click("#try-card summary")
    learn.fill("#rows", "14.2,1.7,2.4,15.6,127,2.8,3.06,0.28,2.29,5.64,1.04,3.92,1065")
    learn.click("#predict")
    settle(learn)
    assert learn.locator("#predictions td").all_inner_texts()[-4] == "1"


def test_a_wrong_label_is_listed_and_shown(learn, tmp_path):
    rows = [f"{i % 7 + 9 * (i % 2)},{i * i % 11},{'ab'[i % 2]}" for i in range(80)]
    wrong = ["ba"[i % 2] if i % 20 < 2 else "ab"[i % 2] for i in range(80)]
    lines = [f"{row[:-1]}{label}" for row, label in zip(rows, wrong, strict=True)]
    (tmp_path / "wrong.csv").write_text("\n".join(["length,width,kind", *lines]))
    learn.set_input_files("#csv", tmp_path / "wrong.csv")
    settle(learn)
    learn.select_option("#geometry", "flat")
    settle(learn)
    start(learn)
    assert ended(learn) == "Done."
    first = learn.locator("#suspicious-rows li").first
    number = int(first.locator("button").inner_text().split()[1])
    assert wrong[number - 1] != "ab"[(number - 1) % 2]
    assert f"is given as {wrong[number - 1]}" in first.inner_text()
    first.locator("button").click()
    settle(learn)
    cells = map(float, learn.locator("#why-said td").all_inner_texts())
    assert list(cells) == list(map(float, lines[number - 1].split(",")[:2]))
    assert "It is a training row" in learn.inner_text("#why-said")
    assert learn.input_value("#fields input >> nth=0") == lines[number - 1].split(",")[0]
    learn.click("#try-card summary")
    learn.fill("#rows", "900,5")
    learn.click("#predict")
    settle(learn)
    assert float(learn.locator("#predictions td").last.inner_text().rstrip("%")) > 98
    assert "unlike any fitted row" in learn.inner_text("#predictions caption")


def test_what_would_have_to_change_is_asked_for(learn):
    start(learn)
    ended(learn)
    learn.fill("#why-row", "4")
    learn.press("#why-row", "Enter")
    learn.click("#ask-change")
    learn.wait_for_function("() => !document.querySelector('#ask-change')", timeout=60_000)
    assert learn.inner_text("#change").startswith("It would be 2 with ")


def test_a_row_is_typed_predicted_and_explained(learn):
    start(learn)
    assert ended(learn) == "Done."
    assert learn.locator("#fields input").count() == 13
    learn.fill("#fields input[name=proline]", "350")
    learn.press("#fields input[name=proline]", "Enter")
    settle(learn)
    assert learn.inner_text("#try-said").startswith("class: ")
    cells = learn.locator("#why-said td").all_inner_texts()
    assert cells[-1] == "350"
    assert learn.inner_text("#why-said").startswith("The row that you typed is predicted")
    learn.fill("#why-row", "5")
    learn.press("#why-row", "Enter")
    settle(learn)
    assert learn.input_value("#fields input[name=proline]") == "735"
    assert learn.inner_text("#try-said") == ""


def test_a_kernel_machine_of_numbers_is_fitted_and_saved(learn, tmp_path):
    from cayleyklein.tables import load_model

    rng = np.random.default_rng(0)
    rows = (f"{a:.3f},{b:.3f},{a * b:.4f}\n" for a, b in rng.normal(size=(60, 2)))
    (tmp_path / "numbers.csv").write_text("a,b,product\n" + "".join(rows))
    learn.set_input_files("#csv", tmp_path / "numbers.csv")
    settle(learn)
    assert learn.inner_text("#table") == "60 rows, numbers to predict"
    learn.select_option("#model", "kernel")
    settle(learn)
    assert "CurvedKernelRegressor" in learn.inner_text("#code")
    start(learn)
    assert ended(learn) == "Done."
    assert learn.inner_text("#title-curved").startswith("Kernel machine")
    assert "kernel in the" in learn.inner_text("#parts")
    with learn.expect_download(timeout=60_000) as waiting:
        start(learn, "model")
    waiting.value.save_as(tmp_path / "numbers.ckm")
    assert load_model(tmp_path / "numbers.ckm").target_ == "product"


def test_results_on_a_phone(learn):
    learn.select_option("#geometry", "auto")
    settle(learn)
    start(learn)
    assert ended(learn) == "Done."
    assert learn.is_visible("#trials")
    learn.set_viewport_size({"width": 390, "height": 844})
    settle(learn)
    width = learn.evaluate("document.documentElement.scrollWidth")
    learn.set_viewport_size({"width": 1280, "height": 800})
    assert width <= 390
    corners, left, right, bottom = learn.evaluate(
        """() => {
          const picture = explorer.pictures[2], t = picture.place(), box = picture.home;
          const corners = [...picture.toPixel(box[0], box[1]), ...picture.toPixel(box[2], box[3])];
          return [corners, t.left, t.width, t.height - t.bottom];
        }"""
    )
    assert corners == pytest.approx([left, bottom, right, 0], abs=1e-6)  # regions fill the frame


def test_a_fit_is_cancelled_and_holds_up_nobody(learn, context, address):
    learn.select_option("#data", "vowel")
    learn.select_option("#geometry", "mixed")
    settle(learn)
    other = open_page(context, address + PLAIN)  # before the fit, which may be quicker than that
    start(learn)
    other.locator("#curvature").fill("0.5")
    settle(other)
    assert other.inner_text("#geometry") == "elliptic"
    assert learn.get_attribute("body", "data-running") == "yes"
    other.close()
    learn.click("[data-do=cancel]")
    assert ended(learn) == "Cancelled."
    assert learn.is_enabled("[data-do=fit]")


def test_uploads(learn, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(BAD)
    learn.set_input_files("#csv", file)
    learn.wait_for_selector("#status:not(:empty)")
    assert "line 3" in learn.inner_text("#status").lower()
    assert learn.inner_text("#table").startswith("178 rows")
    file.write_text("1,2,a\n" * 900_000)
    learn.set_input_files("#csv", file)
    learn.wait_for_selector("#status >> text=the most")
    file.write_text(GOOD)
    learn.set_input_files("#csv", file)
    learn.wait_for_selector("#table >> text=60 rows, 2 classes")
    assert learn.input_value("#target") == "kind"
    assert "day: " in learn.inner_text("#column-notes")
    learn.uncheck("#columns input[type=checkbox] >> nth=2")
    learn.wait_for_selector("#column-notes >> text=day: not used: dropped")
    assert learn.inner_text("#columns-count") == "(2 of 3)"
    start(learn)
    assert ended(learn) == "Done."
    assert "mine.csv" in learn.inner_text("#code")
    assert learn.inner_text("#confusion tbody tr:first-child th") == SCRIPT
    box = learn.locator("#confusion").bounding_box()
    card = learn.locator("#confusion").locator("xpath=ancestor::article").bounding_box()
    assert box["width"] <= card["width"]  # a long name does not push the numbers out of sight
    assert learn.evaluate("window.hacked") is None


def test_the_page_opens_with_an_example_that_is_fitted(context, address):
    page = open_page(context, address + "/learn")
    page.wait_for_selector("body[data-fitted][data-running=no]", timeout=90_000)
    settle(page)
    assert "with plain neighbours" in page.inner_text("#headline")
    assert page.inner_text("#verdict").endswith(".")
    assert page.input_value("#model") == "kernel"
    shares = [int(bar.split()[-2]) for bar in page.locator("#parts .bar").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=2)
    curved = "explorer.pictures[2]"
    x, y = page.evaluate(f"{curved}.toPixel({curved}.points[20], {curved}.points[21])")
    box = page.locator("#picture-curved").bounding_box()
    page.mouse.click(box["x"] + x, box["y"] + y)
    settle(page)
    assert page.locator(".why h3").all_inner_texts()[-2:] == ["Rows for it", "Rows against it"]
    assert page.input_value("#why-row") in page.inner_text("#why-said")
    assert page.complaints == []
    page.close()


def test_a_table_dropped_anywhere_and_the_kind_of_a_column(learn):
    drop = """text => {
      const files = new DataTransfer();
      files.items.add(new File([text], "mine.csv"));
      document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, dataTransfer: files}));
    }"""
    learn.evaluate(drop, GOOD.replace("width", "size"))
    learn.wait_for_selector("#table >> text=60 rows, 2 classes")
    settle(learn)
    assert learn.input_value("select[aria-label='Kind of day']") == "date"
    learn.select_option("select[aria-label='Kind of size']", "category")
    settle(learn)
    assert "as you chose" in learn.inner_text("#columns")
    assert "kinds={'size': 'category'}" in learn.inner_text("#code")


def test_choices(learn):
    assert learn.locator("#data option").all_inner_texts() == list(SOURCES)
    for name in SOURCES:
        learn.select_option("#data", name)
        settle(learn)
        assert f"load_problem('{name}')" in learn.inner_text("#code")
    learn.select_option("#neighbors", "5")
    keep_address(learn)
    learn.reload()
    learn.wait_for_selector("body[data-ready=yes]")
    settle(learn)
    assert learn.input_value("#data") == list(SOURCES)[-1]
    assert learn.input_value("#neighbors") == "5"
    learn.go_back()
    keep_address(learn)
    assert learn.input_value("#neighbors") == "auto"


def test_classes_are_told_apart_in_the_legend(learn):
    learn.select_option("#data", "vowel")
    settle(learn)
    names = learn.locator("#legend .name").all_inner_texts()
    assert names == [str(i) for i in range(11)]
    keys = learn.evaluate(
        "[...document.querySelectorAll('#legend canvas')].map(c => c.toDataURL())"
    )
    assert len(set(keys)) == 11
    assert len(CHART_NAMES) == 5
