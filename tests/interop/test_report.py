"""Pages of results in a real browser. `cargo test` writes the pages (tests/suite/report.rs)."""

import xml.etree.ElementTree as ElementTree

import pytest

from browser import find_chromium, open_page, tab
from conftest import REPOSITORY

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="needs Chromium: apt-get install chromium")

PAGES = ["report", "report-hostile"]
PHONE = {"width": 390, "height": 844, "density": 2, "touch": True}
COLOURS = """[...document.querySelectorAll("canvas")].map(canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
})"""
DRAWN = '[...document.querySelectorAll("canvas")].map(canvas => Number(canvas.dataset.drawn))'
READOUT = 'document.querySelector("output").textContent'


def folder(page):
    path = REPOSITORY / "target" / "tmp" / page
    if not (path / "index.html").is_file():
        pytest.fail(f"{path} does not exist: run `cargo test --release`")
    return path


@pytest.fixture
def maps():
    """The sample page, scrolled to its first maps: `maps.middle(k)` is the middle of the k-th canvas on the screen."""
    with tab(folder("report") / "index.html") as page:
        show_maps(page)
        yield page
        assert page.console == []


def show_maps(page):
    page.run('document.querySelector(".maps").scrollIntoView()')
    page.settle()


def middle(page, canvas=0):
    box = f'document.querySelectorAll("canvas")[{canvas}].getBoundingClientRect()'
    return [page.run(f"{box}.left + {box}.width / 2"), page.run(f"{box}.top + {box}.height / 2")]


@pytest.mark.parametrize("page", PAGES)
def test_the_console_stays_silent_and_nothing_is_fetched(page):
    path = folder(page) / "index.html"
    with tab(path) as opened:
        assert opened.console == []
        assert opened.requests == [path.as_uri()]
        assert opened.run("window.taken") is None


def test_the_browser_test_would_hear_of_errors(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<script>console.log('hello'); fetch('missing.json'); nothing.here()</script>")
    _, console = open_page(page)
    assert "log: hello" in console
    assert any("ReferenceError" in line for line in console)
    assert any("missing.json" in line for line in console)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desk", "phone"])
def test_maps_are_drawn_in_many_colours(size, dark):
    with tab(folder("report") / "index.html", dark=dark, **size) as page:
        drawn, colours = page.run(DRAWN), page.run(COLOURS)
        assert len(drawn) == 7
        assert min(drawn) > 200, drawn
        assert min(colours) > 15, colours
        assert page.console == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_do_not_scroll_sideways(page):
    with tab(folder(page) / "index.html") as opened:
        for width in (1280, 700, 390, 320):
            opened.resize(width, 900)
            opened.settle()
            assert opened.run("document.documentElement.scrollWidth") <= width
        assert opened.console == []


@pytest.mark.parametrize("page", PAGES)
def test_files_of_figures_are_well_formed(page):
    files = sorted(folder(page).glob("*.svg"))
    assert len(files) >= 5
    with tab(files[0]) as opened:
        for file in files:
            assert ElementTree.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
            opened.visit(file)
            assert opened.console == [], file


def test_the_wheel_zooms_all_panels_and_a_double_click_resets(maps):
    x, y = middle(maps)
    before = maps.run(DRAWN)
    for _ in range(12):
        maps.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    zoomed = maps.run(DRAWN)
    assert zoomed[0] != before[0] and zoomed[0] == zoomed[1] > 0
    assert zoomed[2:] == before[2:]
    for count in (1, 2):
        maps.mouse("mousePressed", x, y, button="left", clickCount=count)
        maps.mouse("mouseReleased", x, y, button="left", clickCount=count)
    assert maps.run(DRAWN) == before


def test_the_page_scrolls_on_where_maps_cannot_zoom_out(maps):
    before = maps.run("window.scrollY")
    maps.mouse("mouseWheel", *middle(maps), deltaX=0, deltaY=200)
    maps.run("new Promise(done => setTimeout(done, 300))")
    assert maps.run("window.scrollY") > before


def test_pointing_reads_values_of_all_panels(maps):
    maps.mouse("mouseMoved", *middle(maps))
    latitude, rest = maps.run(READOUT).split(", ", 1)
    assert abs(float(latitude) - 41.65) < 0.01
    assert rest.startswith("−83.5")
    assert "Before: " in rest and "After: " in rest
    maps.mouse("mouseMoved", 2, 2)
    assert "Point at" in maps.run(READOUT)


def test_dragging_moves_a_zoomed_map(maps):
    x, y = middle(maps)
    maps.run("document.querySelector('[data-do=in]').click()")
    maps.mouse("mouseMoved", x, y)
    before = maps.run(READOUT)
    maps.mouse("mousePressed", x, y, button="left", clickCount=1)
    maps.mouse("mouseMoved", x + 100, y, button="left")
    maps.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    maps.mouse("mouseMoved", x + 100, y)
    assert maps.run(READOUT) == before, "the place came along with the pointer"
    maps.mouse("mouseMoved", x, y)
    assert maps.run(READOUT) != before


def test_keys_zoom_the_map_in_focus(maps):
    before = maps.run(DRAWN)
    maps.run('document.querySelector("canvas").focus()')
    for _ in range(4):
        maps.press("+")
    maps.press("ArrowLeft")
    assert maps.run(DRAWN)[0] != before[0]
    maps.press("0")
    assert maps.run(DRAWN) == before


def test_fingers_read_and_zoom():
    with tab(folder("report") / "index.html", **PHONE) as page:
        show_maps(page)
        x, y = middle(page)
        page.fingers("touchStart", (x, y))
        page.fingers("touchEnd")
        assert "Before: " in page.run(READOUT)
        before = page.run(DRAWN)
        page.fingers("touchStart", (x - 20, y), (x + 20, y))
        page.fingers("touchMove", (x - 60, y), (x + 60, y))
        page.fingers("touchMove", (x - 120, y), (x + 120, y))
        page.fingers("touchEnd")
        assert page.run(DRAWN)[0] != before[0]
        assert page.console == []


def test_marks_show_notes(maps):
    mark = 'document.querySelector("#grid rect[data-note]")'
    maps.run(f'{mark}.scrollIntoView({{ block: "center" }})')
    box = f"{mark}.getBoundingClientRect()"
    maps.mouse("mouseMoved", maps.run(f"{box}.left + 5"), maps.run(f"{box}.top + 5"))
    assert maps.run('document.querySelector(".note").innerText') == "σ in m: 20\nc: 0\nR² on the validation rows: 0.81"


def test_maps_across_the_date_line_are_one_piece():
    with tab(folder("report") / "index.html") as page:
        west, _, width, *_ = map(float, page.run('document.querySelector("#date-line .maps").dataset.plane').split())
        assert 179 < west < 180 and width < 1
        page.run('document.querySelector("#date-line .maps").scrollIntoView()')
        x, y = middle(page, 5)
        page.mouse("mouseMoved", x, y)
        _, longitude, *_ = page.run('document.querySelector("#date-line output").textContent').replace("·", ",").split(",")
        assert abs(float(longitude.replace("−", "-"))) > 179.8
