"""Charts in a real browser: drawn, updated and saved as files."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site
from tests.dashboard.browser.site import (
    COMPARE,
    CORUNS,
    FACTOR_EFFECTS,
    draw_all,
)
from tests.dashboard.marked_language import translated

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_chart_shows_all_ratios_of_table(visit):
    page = visit.open(f"{COMPARE}?component=network")
    browser_site.draw_chart(page)

    ratios = page.locator(".cell[class*=heat-]").count()
    points = page.locator(".chart .scatterlayer .point")
    assert points.count() == ratios > 0
    points.first.hover(force=True)
    expect(page.locator(".hovertext")).to_contain_text("of native")
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_plotly_loads_with_first_visible_chart(visit):
    asked = []
    visit.context.route("**/plotly*.js", lambda route: asked.append(route.abort()))
    page = visit.open(COMPARE)
    assert asked == []

    page.locator("[data-chart]").scroll_into_view_if_needed()
    expect(page.get_by_text("This chart could not be loaded")).to_be_visible()

    visit.context.unroute("**/plotly*.js")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-rendered]")).to_have_count(1)
    assert browser_site.violations(page) == []


def test_chart_can_be_downloaded_as_image_and_numbers(visit):
    page = visit.open(f"{COMPARE}?component=network")
    browser_site.draw_chart(page)

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
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_coruns_have_charts_and_tables(visit):
    page = visit.open(CORUNS)
    page.get_by_role("link", name="Iometer: Disk throughput · random read").click()
    draw_all(page, 3)

    stacked = page.locator("#chart .barlayer").first
    # Plotly has an element for each of three VMs in each of four co-runs.
    assert stacked.locator(".point").count() == 12
    page.get_by_text("Show data as table").first.click()
    expect(page.locator("#chart table").first).to_contain_text("16.62\xa0MB/s")
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_chart_has_numbers_of_table(visit):
    page = visit.open(CORUNS)
    page.get_by_role("link", name="Iometer: Disk throughput · random read").click()
    draw_all(page, 3)
    drawing = page.locator("#chart .chart-section").first

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
    assert browser_site.violations(page) == []
    assert visit.errors == []


@pytest.mark.parametrize("language", ["de", "fr"])
def test_decimal_point_is_independent_of_language(chromium, site, language, tmp_path):
    """Saved numbers have decimal points, also inside sentences and ranges."""
    with (
        translated(language, tmp_path),
        browser_site.window(chromium, site, locale=language) as visit,
    ):
        page = visit.open(CORUNS)
        drawing = page.locator(".chart-section").first
        drawing.locator("[data-chart]").scroll_into_view_if_needed()
        expect(drawing.locator("[data-rendered]")).to_have_count(1)
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


def test_chart_updates_after_selection(visit):
    page = visit.open(COMPARE)
    browser_site.draw_chart(page)

    page.get_by_label("Component").select_option("CPU")
    expect(page.locator(".group")).to_have_count(1)
    browser_site.draw_chart(page)

    assert page.locator(".chart .yaxislayer-above text").count() == 1
    assert browser_site.violations(page) == []


def test_plotly_alone_violates_content_security_policy(visit):
    """Control: the listener detects the violation that pages avoid."""

    def strip(route):
        answer = route.fetch()
        body = re.sub(
            r'<meta id="\w+">| id="plotly.js-style-global"', "", answer.text()
        )
        route.fulfill(response=answer, body=body)

    visit.context.route(re.compile("/compare/"), strip)
    page = visit.open(COMPARE)
    browser_site.draw_chart(page)

    assert "style-src-elem inline" in browser_site.violations(page)


def test_factor_effects_page_draws_charts(chromium, site):
    with browser_site.window(chromium, site, color_scheme="dark") as visit:
        page = visit.open(FACTOR_EFFECTS)
        for chart in page.locator("[data-chart]").all():
            chart.scroll_into_view_if_needed()
        expect(page.locator("[data-rendered]")).to_have_count(3)

        page.locator(".point").last.hover(force=True)
        expect(page.locator(".hovertext")).to_have_count(1)
        assert page.locator(".picture .lines path").count() == 4
        assert browser_site.violations(page) == []
        page.get_by_role("link", name="Relative performance").click()
        assert browser_site.query(page) == {"response": "relative_performance"}
        assert visit.errors == []
