"""Tables and charts without a mouse."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import routes
from tests.dashboard.access.questions import FOCUSED, SIZES

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.proof]

CHARTS = [
    *(f"{routes.XEN}compare/", f"{routes.XEN}co-runs/", f"{routes.UOC}energy/"),
    *(f"{routes.UOC}sweep/", f"{routes.ESXI}factor-effects/?component=network"),
    f"{routes.DISKS}cells/{{bimodal}}/",
]
# The table nearest to a chart, and whether it or what unfolds it takes the focus.
TWINS = """
(charts) => charts.map((chart) => {
  const near = chart.closest("section, article, #comparison, main");
  const [table] = [near, near.parentElement].map((each) => each.querySelector("table"))
    .filter(Boolean);
  return Boolean(table?.closest("[tabindex='0']") || table?.closest("details"));
})
"""


@pytest.mark.parametrize("size", SIZES)
def test_arrow_keys_never_lead_behind_the_head_of_the_table(windows, size):
    page = windows["nobody"].open(f"{routes.XEN}compare/")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.locator("[data-grid] tbody td a").first.focus()

    page.keyboard.press("Control+End")
    behind = []
    for key in ["ArrowUp"] * 12 + ["ArrowLeft"] * 6 + ["ArrowDown"] * 6:
        page.keyboard.press(key)
        stop = page.evaluate(FOCUSED)
        behind += [] if stop["isFree"] else [stop["name"]]

    assert behind == []
    page.close()


def test_a_pin_set_by_keyboard_keeps_its_place(windows):
    page = windows["nobody"].open(f"{routes.XEN}compare/?component=network")
    pin = page.get_by_role("link", name=re.compile("^Compare directly")).nth(4)
    column = pin.get_attribute("aria-label").partition(": ")[2]
    pin.focus()

    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("pin="))

    focused = page.locator(":focus")
    expect(focused).to_have_attribute(
        "aria-label", f"Do not compare directly: {column}"
    )
    page.close()


def test_every_chart_has_a_table_beside_it_that_tab_reaches(windows, site):
    for address in CHARTS:
        page = windows["nobody"].open(site.address(address))
        twins = page.locator("[data-chart]").evaluate_all(TWINS)
        assert twins, address
        assert all(twins), address
        page.close()
