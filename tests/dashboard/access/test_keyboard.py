"""Every page without a mouse: the way through it, and what is seen on the way."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import routes

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.proof]

FIRST = [
    pytest.param(address, id=address)
    for addresses in routes.PAGES.values()
    for address in addresses[:1]
]
# Two widths: a table's head may stay in sight on one of them and roll on the other.
SIZES = [(1280, 800), (360, 740)]
MOST_STOPS = 400
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
# What has the focus: its name, whether it can be seen, whether anything lies over it.
# Scrolling there takes the browser a frame.
FOCUSED = """
async () => {
  await new Promise((done) => requestAnimationFrame(done));
  const found = document.activeElement;
  if (!found || found === document.body) return null;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(found);
  const boxes = [...found.getClientRects()].filter((box) => box.width * box.height);
  const isIn = ([x, y]) => {
    const top = document.elementFromPoint(x, y);
    return Boolean(top && (found.contains(top) || top.contains(found)));
  };
  const points = boxes.flatMap(({ left, top, right, bottom }) => [
    [(left + right) / 2, (top + bottom) / 2],
    [left + 2, top + 2], [right - 2, bottom - 2],
  ]);
  const name = found.ariaLabel || found.textContent || found.name || "";
  return {
    name: `${found.localName} ${name.trim().replace(/\\s+/g, " ").slice(0, 60)}`,
    isSeen: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2)
      || boxShadow !== "none" || found.id === "main",
    isFree: points.some(isIn),
  };
}
"""


def stops(page):
    """Press Tab until the page is left; return what had the focus on the way."""
    found = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            return found
        found.append(stop)
    raise AssertionError(f"no way out of the page after {found[-3:]}")


@pytest.mark.parametrize("address", FIRST)
def test_tab_leads_through_every_page_and_out_of_it(windows, site, address):
    who = "nobody" if address == "/login/" else "maintainer"
    page = windows[who].open(site.address(address))
    for width, height in SIZES if "compare" in address else SIZES[:1]:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
        found = stops(page)

        assert found[0]["name"] == "a Skip to content"
        assert [each["name"] for each in found if not each["isSeen"]] == []
        assert [each["name"] for each in found if not each["isFree"]] == []
    page.close()


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
