"""Charts in a real browser: drawn, read and saved as files."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.dashboard import browsing
from tests.dashboard.browser.site import (
    COMPARE,
    CORUNS,
    FACTOR_EFFECTS,
    draw_all,
)
from tests.dashboard.marking import translated

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_the_chart_shows_as_many_marks_as_the_table_has_ratios(visit):
    page = visit.open(f"{COMPARE}?component=network")
    browsing.draw_chart(page)

    ratios = page.locator(".cell[class*=heat-]").count()
    points = page.locator(".chart .scatterlayer .point")
    assert points.count() == ratios > 0
    points.first.hover(force=True)
    expect(page.locator(".hovertext")).to_contain_text("of native")
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_plotly_is_loaded_once_a_chart_is_in_sight_and_can_be_asked_for_again(visit):
    asked = []
    visit.context.route("**/plotly*.js", lambda route: asked.append(route.abort()))
    page = visit.open(COMPARE)
    assert asked == []

    page.locator("[data-chart]").scroll_into_view_if_needed()
    expect(page.get_by_text("This chart could not be drawn")).to_be_visible()

    visit.context.unroute("**/plotly*.js")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-drawn]")).to_have_count(1)
    assert browsing.violations(page) == []


def test_a_chart_is_to_be_had_as_picture_and_as_numbers(visit):
    page = visit.open(f"{COMPARE}?component=network")
    browsing.draw_chart(page)

    files = {}
    page.locator(".chart .chart-menu > summary").click()
    for name in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.locator(".chart").get_by_role("button", name=name).click()
        files[name] = Path(download.value.path()).read_bytes()
        assert download.value.suggested_filename.endswith(f".{name.lower()}")

    assert files["PNG"].startswith(b"\x89PNG")
    assert files["SVG"].startswith(b"<svg")
    _head, *rows = csv.reader(files["CSV"].decode().splitlines())
    assert 13.08 / 52.97 in [float(ratio) for _series, ratio, _case in rows]
    assert len(rows) == page.locator(".cell[class*=heat-]").count()
    assert rows[0][0].startswith("Xen 3.3, full: Ubuntu Server 9.04")
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_co_runs_are_drawn_beside_their_tables(visit):
    page = visit.open(CORUNS)
    page.get_by_role("link", name="Iometer: Disk throughput · random read").click()
    draw_all(page, 3)

    stacked = page.locator("#drawn .barlayer").first
    # Plotly has a place for each of three VMs in each of four co-runs.
    assert stacked.locator(".point").count() == 12
    page.get_by_text("Show data as table").first.click()
    expect(page.locator("#drawn table").first).to_contain_text("16.62\xa0MB/s")
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_the_numbers_of_a_drawing_are_those_of_its_table(visit):
    page = visit.open(CORUNS)
    page.get_by_role("link", name="Iometer: Disk throughput · random read").click()
    draw_all(page, 3)
    drawing = page.locator("#drawn .drawing").first

    files = {}
    drawing.locator(".chart-menu > summary").click()
    for name in ("CSV", "PNG"):
        with page.expect_download() as download:
            drawing.get_by_role("button", name=name).click()
        files[name] = Path(download.value.path()).read_bytes()

    lines = list(csv.reader(files["CSV"].decode().splitlines()))
    cells = drawing.locator("table tr").first.locator("th").all_text_contents()
    assert lines[0] == cells
    assert any("16.62 MB/s" in line for line in lines)
    assert files["PNG"].startswith(b"\x89PNG")
    assert browsing.violations(page) == []
    assert visit.errors == []


@pytest.mark.parametrize("language", ["de", "fr"])
def test_all_numbers_of_a_file_have_a_point_whoever_reads(
    chromium, site, language, tmp_path
):
    """Also those that do not begin their cell, and the thousands of a range."""
    with (
        translated(language, tmp_path),
        browsing.window(chromium, site, locale=language) as visit,
    ):
        page = visit.open(CORUNS)
        drawing = page.locator(".drawing").first
        drawing.locator("[data-chart]").scroll_into_view_if_needed()
        expect(drawing.locator("[data-drawn]")).to_have_count(1)
        drawing.locator(".chart-menu > summary").click()
        drawing.locator("td").first.evaluate("""cell => {
            const [point, between] = document.documentElement.dataset.separators;
            const range = `0${point}96 to 1${between}050${point}5`;
            cell.textContent = `${range} (\\u22122${point}5; Ubuntu 9.04, 4k,32k)`;
        }""")
        with page.expect_download() as download:
            drawing.get_by_role("button", name="CSV").click()

        text = Path(download.value.path()).read_text()
        assert "0.96 to 1050.5 (-2.5; Ubuntu 9.04, 4k,32k)" in text


def test_the_chart_is_drawn_again_after_a_choice(visit):
    page = visit.open(COMPARE)
    browsing.draw_chart(page)

    page.get_by_label("Component").select_option("CPU")
    expect(page.locator(".group")).to_have_count(1)
    browsing.draw_chart(page)

    assert page.locator(".chart .yaxislayer-above text").count() == 1
    assert browsing.violations(page) == []


def test_without_our_elements_plotly_would_break_the_policy(visit):
    """The control: the listener does see what the page avoids."""

    def strip(route):
        answer = route.fetch()
        body = re.sub(
            r'<meta id="\w+">| id="plotly.js-style-global"', "", answer.text()
        )
        route.fulfill(response=answer, body=body)

    visit.context.route(re.compile("/compare/"), strip)
    page = visit.open(COMPARE)
    browsing.draw_chart(page)

    assert "style-src-elem inline" in browsing.violations(page)


def test_the_effects_page_draws_its_charts(chromium, site):
    with browsing.window(chromium, site, color_scheme="dark") as visit:
        page = visit.open(FACTOR_EFFECTS)
        for chart in page.locator("[data-chart]").all():
            chart.scroll_into_view_if_needed()
        expect(page.locator("[data-drawn]")).to_have_count(3)

        page.locator(".point").last.hover(force=True)
        expect(page.locator(".hovertext")).to_have_count(1)
        assert page.locator(".picture .lines path").count() == 4
        assert browsing.violations(page) == []
        page.get_by_role("link", name="Relative performance").click()
        assert browsing.query(page) == {"response": "efficiency"}
        assert visit.errors == []
