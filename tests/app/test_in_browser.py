"""Everything a visitor does, in a real browser. Skipped, with the reason, where there is none."""

import json
import urllib.parse

import pytest
from tests.app.browser import (
    browser,
    data,
    keep_address,
    open_page,
    pixel,
    reason_to_skip,
    served,
    settle,
)

from cayleyklein.app._tables import BUNDLED

pytestmark = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))

SCRIPT = "<img src=x onerror='hacked = 1'>"
GOOD = f"{SCRIPT},width,kind\n" + "".join(
    f"{i % 7 + 3 * (i % 2)},{i % 5 + 0.1 * i},{(SCRIPT, 'b')[i % 2]}\n" for i in range(60)
)
BAD = "length,width,kind\n1,2,a\n3,4\n"


@pytest.fixture(scope="module")
def address():
    with served() as at:
        yield at


@pytest.fixture(scope="module")
def context():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def window(context, address):
    page = open_page(context, address)
    yield page
    page.close()


def visit(page, address):
    page.complaints.clear()
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]")
    settle(page)
    return page


@pytest.fixture
def plane(window, address):
    yield visit(window, address)
    assert window.complaints == []


@pytest.fixture
def learn(window, address):
    yield visit(window, f"{address}/learn?data=wine&geometry=elliptic")
    assert window.complaints == []


def first_point(page):
    points = data(page, "points")
    return points["x"][0], points["y"][0]


def cells(page):
    return json.dumps(data(page, "cells")["xs"])


def drag(page, start, end, steps=8):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()
    settle(page)


# -- the plane ----------------------------------------------------------------------


def test_drag_moves_a_point_and_its_cells(plane):
    x, y = first_point(plane)
    before = cells(plane)
    drag(plane, pixel(plane, x, y), pixel(plane, x + 0.3, y + 0.2))
    assert first_point(plane) == pytest.approx((x + 0.3, y + 0.2), abs=0.03)
    assert cells(plane) != before


def test_cells_follow_while_the_button_is_down(plane):
    x, y = first_point(plane)
    before = cells(plane)
    plane.mouse.move(*pixel(plane, x, y))
    plane.mouse.down()
    plane.mouse.move(*pixel(plane, x + 0.2, y), steps=5)
    settle(plane)
    during = cells(plane)
    plane.mouse.up()
    settle(plane)
    assert during != before


def test_handles_move_the_conic(plane):
    handles = data(plane, "handles")
    rim = data(plane, "rim")["x"]
    start = handles["x"][1], handles["y"][1]
    drag(plane, pixel(plane, *start), pixel(plane, 0.7 * start[0], 0.7 * start[1]))
    moved = data(plane, "handles")
    assert abs(moved["x"][1]) < 0.9 * abs(start[0])
    assert max(data(plane, "rim")["x"]) < max(rim)


def test_other_charts_say_why_they_have_no_handles(plane):
    plane.click(".segments >> text=Poincaré")
    settle(plane)
    assert data(plane, "handles")["x"] == []
    assert "in Klein's view only" in plane.inner_text("#notes")
    plane.uncheck("[data-layer=conic]")
    settle(plane)
    assert plane.text_content("#notes") == ""


def test_a_drag_ends_where_it_was_dropped_though_another_follows(plane):
    points = data(plane, "points")
    spots = [(points["x"][i], points["y"][i]) for i in (0, 5)]
    # all while the server is busy with the first: what is of one kind may be thinned out
    plane.evaluate(
        """spots => {
          explorer.send({do: "next", by: 1});
          for (const [x, y] of spots) {
            explorer.send({do: "grab", x, y, reach: 0.02});
            for (const part of [0.5, 1]) explorer.send({do: "drag", x: x + part * 0.1, y}, "drag");
            explorer.send({do: "drop"});
          }
        }""",
        spots,
    )
    settle(plane)
    moved = data(plane, "points")
    for i, (x, _) in zip((0, 5), spots, strict=True):
        assert moved["x"][i] == pytest.approx(x + 0.1, abs=1e-3)


def test_slider_moves_through_zero(plane):
    slider = plane.locator("#curvature")
    seen = []
    for value in (-0.5, -0.01, 0, 0.01, 0.5, 1):
        slider.fill(str(value))
        settle(plane)
        seen.append(plane.inner_text("#geometry"))
        assert len(data(plane, "points")["x"]) == 28
        assert data(plane, "cells")["xs"]
    assert seen == ["hyperbolic"] * 2 + ["flat"] + ["elliptic"] * 3


def test_slider_keeps_up_with_the_hand(plane):
    box = plane.locator("#curvature").bounding_box()
    drag(
        plane,
        (box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2),
        (box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2),
        steps=40,
    )
    keep_address(plane)
    shown = float(plane.inner_text(".reading output").replace("−", "-"))
    assert shown == pytest.approx(0.6, abs=0.1)
    assert f"curvature={shown:g}" in plane.url


def test_add_and_delete(plane):
    plane.mouse.dblclick(*pixel(plane, 0.05, 0.93))
    settle(plane)
    assert len(data(plane, "points")["x"]) == 29
    assert data(plane, "points")["y"][-1] == pytest.approx(0.93, abs=0.02)
    plane.click("[data-do=delete]")
    settle(plane)
    assert len(data(plane, "points")["x"]) == 28
    plane.click("[data-do=add]")
    settle(plane)
    assert len(data(plane, "points")["x"]) == 29


def test_switch_chart_and_drag_there(plane):
    for chart in ("Poincaré", "Half-plane", "Hemisphere"):
        plane.click(f".segments >> text={chart}")
        settle(plane)
        x, y = first_point(plane)
        drag(plane, pixel(plane, x, y), pixel(plane, x + 0.1, y - 0.1))
        assert first_point(plane) == pytest.approx((x + 0.1, y - 0.1), abs=0.03)


LAYERS = {
    "delaunay": "delaunay",
    "geodesics": "geodesic",
    "bisector": "bisector",
    "balls": "spheres",
    "regions": "frontier",
}


def test_toggles(plane):
    for layer, source in LAYERS.items():
        assert data(plane, source)["x"] == []
        plane.check(f"[data-layer={layer}]")
        settle(plane)
        assert len(data(plane, source)["x"]) > 1
        plane.uncheck(f"[data-layer={layer}]")
        settle(plane)
        assert data(plane, source)["x"] == []


def test_order_and_radius(plane):
    before = cells(plane)
    plane.locator("#order").fill("3")
    settle(plane)
    assert cells(plane) != before
    plane.check("[data-layer=balls]")
    settle(plane)
    small = max(v for v in data(plane, "spheres")["x"] if v is not None)
    plane.locator("#radius").fill("0.6")
    settle(plane)
    assert max(v for v in data(plane, "spheres")["x"] if v is not None) > small


def test_hover_says_distances(plane):
    x, y = first_point(plane)
    plane.mouse.move(*pixel(plane, x + 0.01, y))
    settle(plane)
    assert "to point 1" in plane.inner_text("#readout").split(",")[1]
    plane.mouse.move(*pixel(plane, -1.55, 1.4))
    settle(plane)
    assert "Outside" in plane.inner_text("#readout")


def test_keyboard(plane):
    plane.focus("#canvas")
    x, y = first_point(plane)
    plane.keyboard.press("n")
    plane.keyboard.press("p")
    settle(plane)
    assert plane.inner_text("#readout").startswith(f"point 1 = ({x:.3f}, {y:.3f}); d = ")
    assert plane.get_attribute("#readout", "aria-live") == "polite"
    plane.keyboard.press("ArrowRight")
    plane.keyboard.press("ArrowUp")
    settle(plane)
    moved = first_point(plane)
    assert moved[0] > x
    assert moved[1] > y
    plane.keyboard.press("+")
    plane.keyboard.press("n")
    plane.keyboard.press("a")
    plane.keyboard.press("3")
    settle(plane)
    assert plane.inner_text(".reading output") == "−0.55"
    assert plane.inner_text("#count").startswith("29, chosen 29")
    plane.keyboard.press("Delete")
    settle(plane)
    assert plane.inner_text("#count").startswith("28")


def test_the_wheel_zooms_and_a_key_shows_all_again(plane):
    width = """() => { const r = Bokeh.documents[0].get_model_by_name("plot").x_range;
                       return r.end - r.start; }"""
    whole = plane.evaluate(width)
    plane.mouse.move(*pixel(plane, 0.0, 0.0))
    plane.mouse.wheel(0, -240)
    settle(plane)
    assert plane.evaluate(width) < 0.95 * whole
    plane.focus("#canvas")
    plane.keyboard.press("0")
    settle(plane)
    assert plane.evaluate(width) == pytest.approx(whole)


def test_reload_from_the_address(plane):
    plane.click(".segments >> text=Poincaré")
    plane.locator("#curvature").fill("0.4")
    plane.check("[data-layer=delaunay]")
    settle(plane)
    drag(plane, pixel(plane, *first_point(plane)), pixel(plane, 0.2, 0.9))
    keep_address(plane)
    before = data(plane, "points")
    query = urllib.parse.urlsplit(plane.url).query
    assert "chart=poincare" in query
    plane.reload()
    plane.wait_for_selector("body[data-ready=yes]")
    settle(plane)
    assert data(plane, "points") == before
    assert plane.inner_text("#geometry") == "elliptic"
    assert plane.is_checked("[data-layer=delaunay]")


def test_nonsense_in_the_address_is_said(context, address):
    page = open_page(context, f"{address}/?curvature=nonsense")
    assert "not understood" in page.inner_text("#status")
    assert len(data(page, "points")["x"]) == 28
    page.close()


def test_a_lost_connection_comes_back_with_the_state(context, address):
    page = context.new_page()
    page.add_init_script(
        """window.sockets = [];
        const Plain = window.WebSocket;
        window.WebSocket = class extends Plain {
          constructor(...given) { super(...given); window.sockets.push(this); }
        };"""
    )
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]")
    page.locator("#curvature").fill("0.9")
    settle(page)
    page.evaluate(
        """() => {
          window.old = true;
          explorer.send({do: "set", name: "order", value: 2});
          window.sockets.forEach(socket => socket.close());
        }"""
    )
    page.wait_for_selector("#status >> text=Reload")
    page.wait_for_function("!window.old && document.body.dataset.ready === 'yes'")
    settle(page)
    assert page.inner_text("#geometry") == "elliptic"
    assert page.text_content("#status") == ""
    page.close()


def test_two_visitors_do_not_share(plane, context, address):
    other = open_page(context, address)
    other.locator("#curvature").fill("0.9")
    settle(other)
    assert other.inner_text("#geometry") == "elliptic"
    assert plane.inner_text("#geometry") == "hyperbolic"
    other.close()


EXPORTS = {
    "SVG": b"<svg",
    "PNG": b"\x89PNG",
    "CSV": b"x,y,class",
    "Python": b"import",
    "HTML": b"<!DOCTYPE html>",
}


def test_exports(plane):
    for button, start in EXPORTS.items():
        with plane.expect_download() as waiting:
            plane.click(f"text={button} >> visible=true")
        assert waiting.value.path().read_bytes().startswith(start)


def test_offline_page_works_without_a_server(plane, context, tmp_path):
    with plane.expect_download() as waiting:
        plane.click("[data-export='plane.html']")
    kept = tmp_path / "plane.html"
    waiting.value.save_as(kept)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(kept.as_uri())
    shown = "document.querySelector('svg g.on').dataset.k"
    assert page.evaluate(shown) == "-0.60"
    page.locator("#K").fill("0")
    assert page.evaluate(shown) == "-1.00"
    assert complaints == []
    page.close()


def test_dark_changes_the_drawing(plane):
    before = data(plane, "points")["fill"][0]
    plane.click("#theme")
    settle(plane)
    assert data(plane, "points")["fill"][0] != before
    plane.click("#theme")
    settle(plane)
    assert data(plane, "points")["fill"][0] == before


def test_everything_has_a_name(plane):
    nameless = plane.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a")].filter(e =>
             !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())
           ).map(e => e.outerHTML)"""
    )
    assert nameless == []
    assert "28 points" in plane.get_attribute("#canvas", "aria-label")


@pytest.mark.parametrize("path", ["/", "/learn"])
def test_fits_a_phone_and_has_no_nameless_stop_of_the_tab_key(context, address, path):
    page = open_page(context, address + path)
    stops = page.evaluate(
        """() => {
          const inner = root => [...root.querySelectorAll("*")].flatMap(({shadowRoot: shadow}) =>
            shadow ? [...inner(shadow), ...shadow.querySelectorAll("[tabindex='0']")] : []);
          return inner(document).map(e => e.className);
        }"""
    )
    assert stops == []
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.complaints == []
    page.close()


# -- learning -----------------------------------------------------------------------


def ended(page):
    page.wait_for_selector("body[data-running=no]", timeout=60_000)
    settle(page)
    return page.inner_text("#state")


def start(page):
    page.click("[data-do=fit]")
    page.wait_for_selector("body[data-running=yes]")


def test_fit(learn):
    start(learn)
    assert ended(learn) == "Done."
    for place in ("before", "flat", "curved"):
        assert "% on held-out rows" in learn.inner_text(f"#about-{place}")
    assert "iteration" in learn.inner_text("#live")
    counts = [int(cell) for cell in learn.locator("#confusion td").all_inner_texts()]
    assert sum(counts) == 54  # three tenths of 178 rows
    assert "load_wine" in learn.inner_text("#code")


def test_cancel(learn):
    learn.select_option("[data-choice=data]", "vowel")
    learn.select_option("[data-choice=geometry]", "learned")
    learn.select_option("[data-choice=iterations]", "1000")
    settle(learn)
    start(learn)
    learn.wait_for_function("document.querySelector('#live').textContent.includes('iteration')")
    learn.click("[data-do=cancel]")
    assert ended(learn) in ("Stopped early; what was learned is shown.", "Cancelled.")
    assert learn.is_enabled("[data-do=fit]")


def test_a_fit_does_not_hold_up_another_visitor(learn, context, address):
    learn.select_option("[data-choice=data]", "vowel")
    learn.select_option("[data-choice=iterations]", "1000")
    settle(learn)
    start(learn)
    other = open_page(context, address)
    before = cells(other)
    other.locator("#curvature").fill("0.5")
    settle(other)
    assert cells(other) != before
    assert learn.get_attribute("body", "data-running") == "yes"
    other.close()
    learn.click("[data-do=cancel]")
    ended(learn)


def test_upload_a_good_table(learn, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(GOOD)
    learn.set_input_files("#csv", file)
    learn.wait_for_function("document.querySelector('#table').textContent.startsWith('60 rows')")
    assert learn.inner_text("#table") == "60 rows, 2 columns, 2 classes"
    start(learn)
    assert ended(learn) == "Done."
    assert "mine.csv" in learn.inner_text("#code")
    assert learn.inner_text("[data-choice=x] option:first-child") == SCRIPT
    assert learn.inner_text("#confusion tbody tr:first-child th") == SCRIPT
    assert learn.evaluate("window.hacked") is None


def test_upload_a_bad_table(learn, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(BAD)
    learn.set_input_files("#csv", file)
    learn.wait_for_selector("#status:not(:empty)")
    assert "line 3" in learn.inner_text("#status").lower()
    assert learn.inner_text("#table").startswith("178 rows")


def test_upload_too_large(learn, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("1,2,a\n" * 200_000)
    learn.set_input_files("#csv", file)
    learn.wait_for_selector("#status:not(:empty)")
    assert "the most" in learn.inner_text("#status")


def test_a_late_answer_does_not_undo_a_choice(learn):
    shown = learn.evaluate(
        """() => {
          const said = Bokeh.documents[0].get_model_by_name("said"), late = said.data.answer[0];
          const select = document.querySelector("[data-choice=data]");
          select.value = "sonar";
          select.dispatchEvent(new Event("change"));
          said.data = {answer: [late]};
          return select.value;
        }"""
    )
    assert shown == "sonar"
    settle(learn)
    assert learn.input_value("[data-choice=data]") == "sonar"
    assert learn.inner_text("#table").startswith("208 rows")


def test_every_bundled_data_set_can_be_chosen(learn):
    assert learn.locator("[data-choice=data] option").all_inner_texts() == list(BUNDLED)
    for name in BUNDLED:
        learn.select_option("[data-choice=data]", name)
        settle(learn)
        assert f"load_{name}" in learn.inner_text("#code")


def test_choices_are_in_the_address(learn):
    learn.select_option("[data-choice=data]", "sonar")
    learn.select_option("[data-choice=plane]", "columns")
    learn.select_option("[data-choice=neighbors]", "5")
    keep_address(learn)
    learn.reload()
    learn.wait_for_selector("body[data-ready=yes]")
    settle(learn)
    assert learn.input_value("[data-choice=data]") == "sonar"
    assert learn.input_value("[data-choice=neighbors]") == "5"
    assert learn.is_enabled("[data-choice=x]")
