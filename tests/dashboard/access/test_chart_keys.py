"""Charts by keyboard: series, points and zoom."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site, routes

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.slow]

SPAN = """
(chart) => {
  const [first, last] = chart.querySelector(".chart-canvas")._fullLayout.xaxis.range;
  return last - first;
}
"""


@pytest.fixture
def visit(chromium, site):
    """Return a separate window; check errors and the policy at the end."""
    with browser_site.window(chromium, site.url) as opened:
        yield opened
        assert opened.errors == []


def open_chart(visit, address):
    """Open a page and return its first chart once it is drawn."""
    page = visit.open(address)
    chart = page.locator("[data-chart]").first
    chart.scroll_into_view_if_needed()
    expect(chart).to_have_attribute("data-rendered", "")
    open_tools(chart)
    return chart


def open_tools(place):
    """Open the menu of a chart."""
    menu = place.locator(".chart-menu > summary")
    expect(place.get_by_role("button", name="Next point")).to_be_hidden()
    menu.press("Enter")
    expect(place.get_by_role("button", name="Next point")).to_be_visible()


def hidden_series(chart):
    return chart.locator("[aria-pressed=false]")


def announcement(chart):
    return chart.locator(".chart-announcement")


def test_keyboard_toggles_series(visit):
    chart = open_chart(visit, f"{routes.XEN_STUDY}compare/?component=network")
    points = chart.locator(".scatterlayer .point")
    count = points.count()
    series = chart.get_by_role("group", name="Chart series")

    series.get_by_role("button", pressed=True).first.press("Enter")
    expect(hidden_series(chart)).to_be_focused()
    assert points.count() < count
    hidden_series(chart).press("Space")

    expect(hidden_series(chart)).to_have_count(0)
    expect(points).to_have_count(count)
    assert browser_site.violations(chart.page) == []


def test_keyboard_isolates_series(visit):
    chart = open_chart(visit, f"{routes.XEN_STUDY}compare/?component=network")
    last = chart.locator("[data-chart-series-index]").last

    chart.get_by_role("button", name="Hide all").press("Enter")
    expect(chart.locator(".scatterlayer .point")).to_have_count(0)
    last.press("Enter")
    assert chart.locator(".scatterlayer .trace").count() == 1
    chart.get_by_role("button", name="Show all").press("Enter")

    expect(hidden_series(chart)).to_have_count(0)


def test_keyboard_visits_points(visit):
    chart = open_chart(visit, f"{routes.KVM_STUDY}sweep/")
    count = chart.locator(".scatterlayer .point").count()

    chart.get_by_role("button", name="Next point").press("Enter")
    expect(announcement(chart)).to_have_text(
        re.compile(rf"^Point 1 of {count}: .+MB/s$")
    )
    expect(chart.locator(".hovertext")).to_have_count(1)
    chart.page.keyboard.press("ArrowRight")
    expect(announcement(chart)).to_have_text(re.compile("^Point 2 of "))
    chart.page.keyboard.press("ArrowLeft")
    expect(announcement(chart)).to_have_text(re.compile("^Point 1 of "))
    chart.page.keyboard.press("Escape")

    expect(announcement(chart)).to_be_empty()
    expect(chart.locator(".hovertext")).to_have_count(0)


def test_bar_is_announced_with_row(visit):
    chart = open_chart(visit, f"{routes.XEN_STUDY}co-runs/")

    chart.get_by_role("button", name="Next point").press("Enter")

    expect(announcement(chart)).to_have_text(
        re.compile(r"^Point 1 of \d+: \d VMs: .+: \d")
    )


def test_point_is_announced_with_position(visit):
    page = visit.open(f"{routes.ESXI_STUDY}factor-effects/?component=network")
    chart = page.locator(".picture [data-chart]").first
    chart.scroll_into_view_if_needed()
    expect(chart).to_have_attribute("data-rendered", "")
    open_tools(chart)

    chart.get_by_role("button", name="Next point").press("Enter")

    expect(announcement(chart)).to_have_text(
        re.compile(r"^Point 1 of \d+: 32-bit Guest tools absent: .+: 0\.\d+$")
    )


def test_keyboard_zooms_in_and_out(visit):
    chart = open_chart(visit, f"{routes.KVM_STUDY}sweep/")
    whole = chart.evaluate(SPAN)
    chart.get_by_role("button", name="Next point").press("Enter")
    expect(announcement(chart)).to_contain_text("Point 1 of")

    chart.get_by_role("button", name="Zoom in").press("Enter")
    expect(announcement(chart)).to_have_text("Enlarged 2\N{MULTIPLICATION SIGN}")
    assert chart.evaluate(SPAN) == pytest.approx(whole / 2)
    chart.get_by_role("button", name="Zoom out").press("Enter")

    expect(announcement(chart)).to_have_text("Showing the whole chart")
    assert chart.evaluate(SPAN) == pytest.approx(whole)


def test_bars_cannot_be_zoomed(visit):
    chart = open_chart(visit, f"{routes.XEN_STUDY}co-runs/")

    expect(chart.get_by_role("button", name="Next point")).to_be_visible()
    expect(chart.get_by_role("button", name="Zoom in")).to_have_count(0)


def test_image_has_legend_of_visible_series(visit):
    chart = open_chart(visit, f"{routes.XEN_STUDY}compare/?component=network")
    names = chart.locator(".chart-entry").all_inner_texts()
    chart.locator("[data-chart-series-index]").first.press("Enter")
    expect(hidden_series(chart)).to_have_count(1)
    with chart.page.expect_download() as download:
        chart.get_by_role("button", name="SVG").press("Enter")
    picture = Path(download.value.path()).read_text()

    assert chart.locator(".legend").count() == 0
    heads = chart.locator(".chart-group").count()
    assert picture.count('class="legendtext"') == len(names) - 1 + heads


def test_empty_bar_is_skipped(visit, site):
    chart = open_chart(visit, site.address(f"{routes.DISK_STUDY}cells/{{bimodal}}/"))
    bins = chart.page.get_by_role("article", name="Histogram")
    bins.locator("[data-chart]").scroll_into_view_if_needed()
    expect(bins.locator("[data-chart]")).to_have_attribute("data-rendered", "")

    open_tools(bins)
    bins.get_by_role("button", name="Next point").press("Enter")

    expect(announcement(bins)).to_have_text(
        re.compile(r"^Point 1 of 2: .+ \(64%\): .+: 7$")
    )


def test_series_keep_colors_in_forced_colors_mode(chromium, site):
    strokes = "(all) => new Set(all.map((line) => getComputedStyle(line).stroke)).size"
    with browser_site.window(chromium, site.url, forced_colors="active") as visit:
        chart = open_chart(visit, f"{routes.XEN_STUDY}co-runs/")

        assert chart.locator(".js-line").evaluate_all(strokes) == 3
