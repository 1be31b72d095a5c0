"""No page moves beneath its reader, however late its charts arrive."""

import pytest
from playwright.sync_api import expect

from tests.dashboard import browsing, routes
from tests.dashboard.access.questions import NOTE, TWO_FRAMES, moved

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db,
    pytest.mark.proof,
    pytest.mark.walk,
]

SIZES = {
    "desk": {"width": 1440, "height": 900},
    "phone": {"width": 360, "height": 740},
}
# A chart's end in the middle of the window: what follows it would be seen to move.
SHOW_ITS_END = """
(chart) => scrollBy(0, chart.getBoundingClientRect().bottom - innerHeight / 2)
"""


@pytest.fixture(scope="module", params=SIZES)
def reader(request, chromium, site):
    """The window of a maintainer that notes whatever moves in it."""
    with browsing.window(chromium, site.url, viewport=SIZES[request.param]) as visit:
        site.sign_in(visit, "maintainer")
        visit.context.add_init_script(NOTE)
        yield visit


@pytest.mark.parametrize("name", [name for name in routes.PAGES if name != "login"])
def test_nothing_moves_when_charts_arrive(reader, site, name):
    """Pages without charts are asked for on the other walks."""
    for address in map(site.address, routes.PAGES[name]):
        for at in range(charts(reader, address)):
            page = chart_arrived(reader, address, at)
            assert moved(page) == [], f"chart {at} of {address}"
            page.close()


def charts(visit, address):
    """Count the charts of a page in its source, without running its scripts."""
    text = visit.context.request.get(visit.url + address).text()
    return text.count('<figure class="chart" data-chart')


def chart_arrived(visit, address, at):
    """Open a page whose charts come when one of them has been waited for."""
    page = visit.context.new_page()
    held = []
    page.route("**/plotly*.js", lambda route: held.append(route))
    # Not to its end: that waits for what is held.
    page.goto(visit.url + address, wait_until="domcontentloaded")
    chart = page.locator("[data-chart]").nth(at)
    chart.evaluate(SHOW_ITS_END)
    while not held:
        page.wait_for_timeout(20)
    page.evaluate(TWO_FRAMES)
    for route in held:
        route.continue_()
    expect(chart).to_have_attribute("data-drawn", "")
    return page


def test_what_moves_is_noted(reader, site):
    """The control: a chart without its room pushes away what follows it."""
    assert charts(reader, f"{routes.UOC}energy/") > 2
    sheet = "**/data*.css"
    reader.context.route(sheet, without_room)
    page = chart_arrived(reader, f"{routes.UOC}energy/", 2)
    reader.context.unroute(sheet)

    assert moved(page) != []
    page.close()


def without_room(route):
    answer = route.fetch()
    body = answer.text().replace(".chart-room", ".nothing")
    route.fulfill(response=answer, body=f"{body} .chart-room {{ display: none; }}")
