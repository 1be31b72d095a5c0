"""Loading charts does not shift the layout."""

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site, routes
from tests.dashboard.access.page_checks import NOTE, TWO_FRAMES, layout_shifts

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.walk,
]

SIZES = {
    "desk": {"width": 1440, "height": 900},
    "phone": {"width": 360, "height": 740},
}
# The end of a chart in the middle of the window, so that shifts below are visible.
SHOW_ITS_END = """
(chart) => scrollBy(0, chart.getBoundingClientRect().bottom - innerHeight / 2)
"""


@pytest.fixture(scope="module", params=SIZES)
def reader(request, chromium, site):
    """Return a maintainer's window that records layout shifts."""
    with browser_site.window(
        chromium, site.url, viewport=SIZES[request.param]
    ) as visit:
        site.sign_in(visit, "maintainer")
        visit.context.add_init_script(NOTE)
        yield visit


@pytest.mark.parametrize("name", [name for name in routes.PAGES if name != "login"])
def test_loading_charts_does_not_shift_layout(reader, site, name):
    """Pages without charts are checked by other tests."""
    for address in map(site.address, routes.PAGES[name]):
        for at in range(chart_count(reader, address)):
            page = load_chart_late(reader, address, at)
            assert layout_shifts(page) == [], f"chart {at} of {address}"
            page.close()


def chart_count(visit, address):
    """Return the number of charts in a page's source, without running its scripts."""
    text = visit.context.request.get(visit.url + address).text()
    return text.count('<figure class="chart" data-chart')


def load_chart_late(visit, address, at):
    """Open a page, show the end of this chart, and only then load the charts."""
    page = visit.context.new_page()
    held = []
    page.route("**/plotly*.js", lambda route: held.append(route))
    # The load event would wait for the held requests.
    page.goto(visit.url + address, wait_until="domcontentloaded")
    chart = page.locator("[data-chart]").nth(at)
    chart.evaluate(SHOW_ITS_END)
    while not held:
        page.wait_for_timeout(20)
    page.evaluate(TWO_FRAMES)
    for route in held:
        route.continue_()
    expect(chart).to_have_attribute("data-rendered", "")
    return page


def test_layout_shift_is_detected(reader, site):
    """Control: a chart without reserved space shifts what follows."""
    assert chart_count(reader, f"{routes.KVM_STUDY}energy/") > 2
    sheet = "**/data*.css"
    reader.context.route(sheet, without_room)
    page = load_chart_late(reader, f"{routes.KVM_STUDY}energy/", 2)
    reader.context.unroute(sheet)

    assert layout_shifts(page) != []
    page.close()


def without_room(route):
    answer = route.fetch()
    body = answer.text().replace(".chart-placeholder", ".nothing")
    route.fulfill(
        response=answer, body=f"{body} .chart-placeholder {{ display: none; }}"
    )
