"""Tables and charts by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import routes
from tests.dashboard.access.page_checks import FOCUSED, SIZES

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.slow]

CHARTS = [
    *(
        f"{routes.XEN_STUDY}compare/",
        f"{routes.XEN_STUDY}co-runs/",
        f"{routes.KVM_STUDY}energy/",
    ),
    *(
        f"{routes.KVM_STUDY}sweep/",
        f"{routes.ESXI_STUDY}factor-effects/?component=network",
    ),
    f"{routes.DISK_STUDY}cells/{{bimodal}}/",
]
# The table next to a chart, and whether the table or its summary takes the focus.
TWINS = """
(charts) => charts.map((chart) => {
  const near = chart.closest("section, article, #comparison, main");
  const [table] = [near, near.parentElement].map((each) => each.querySelector("table"))
    .filter(Boolean);
  return Boolean(table?.closest("[tabindex='0']") || table?.closest("details"));
})
"""


@pytest.mark.parametrize("size", SIZES)
def test_arrow_keys_keep_focus_below_table_header(windows, size):
    page = windows["nobody"].open(f"{routes.XEN_STUDY}compare/")
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


def test_pinning_by_keyboard_keeps_focus(windows):
    page = windows["nobody"].open(f"{routes.XEN_STUDY}compare/?component=network")
    pin = page.get_by_role("link", name=re.compile("^Compare directly")).nth(4)
    column = pin.get_attribute("aria-label").partition(": ")[2]
    pin.focus()

    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("pin="))

    focused = page.locator(":focus")
    expect(focused).to_have_attribute(
        "aria-label", f"Remove from direct comparison: {column}"
    )
    page.close()


def test_every_chart_has_table_reachable_by_tab(windows, site):
    for address in CHARTS:
        page = windows["nobody"].open(site.address(address))
        twins = page.locator("[data-chart]").evaluate_all(TWINS)
        assert twins, address
        assert all(twins), address
        page.close()
