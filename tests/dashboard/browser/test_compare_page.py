"""The compare page in a real browser: filters, search, pins, energy and keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site
from tests.dashboard.browser.site import (
    COMPARE,
    ENERGY,
    draw_all,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def cell_texts(page):
    # Cells out of view have no inner text.
    return [text.strip() for text in page.locator(".cell b").all_text_contents()]


def test_filter_updates_table_and_url(visit):
    page = visit.open(COMPARE)

    assert not page.get_by_role("button", name="Compare").is_visible()
    page.get_by_label("Component").select_option("network")
    expect(page.locator(".group")).to_have_count(1)

    assert browser_site.query(page)["component"] == "network"
    assert "scenario" not in browser_site.query(page)
    assert "0.247" in cell_texts(page)
    expect(page.locator("[data-status]")).to_contain_text("2 benchmarks")
    shown = cell_texts(page)
    page.reload()
    assert cell_texts(page) == shown
    assert visit.errors == []


def test_back_button_restores_view(visit):
    page = visit.open(COMPARE)
    before = cell_texts(page)

    page.get_by_label("Component").select_option("CPU")
    expect(page.locator(".group")).to_have_count(1)
    page.go_back()
    expect(page.locator(".group")).to_have_count(4)

    assert cell_texts(page) == before
    assert page.get_by_label("Component").input_value() == ""


def test_page_works_without_scripts(chromium, site):
    with browser_site.window(chromium, site, java_script_enabled=False) as visit:
        page = visit.context.new_page()
        page.goto(site + COMPARE)

        page.get_by_label("Component").select_option("network")
        page.get_by_role("button", name="Compare").click()

        page.wait_for_load_state()  # the URL changes before the table
        assert "component=network" in page.url
        assert "0.247" in cell_texts(page)
        assert page.get_by_text("This chart needs JavaScript").is_visible()
        assert not page.locator("[data-chart] button").first.is_visible()
        assert not page.locator("[data-theme-toggle]").is_visible()
        page.get_by_role("link", name=re.compile("^0.247")).first.click()
        assert page.get_by_text("52.97 MB/s").first.is_visible()


def test_idle_power_can_be_subtracted(visit):
    page = visit.open(ENERGY)
    page.get_by_label("Idle power (W)").fill("110")
    page.get_by_role("button", name="Subtract idle power").click()
    draw_all(page, 4)

    assert browser_site.query(page) == {"idle_w": "110"}
    expect(page.get_by_role("table").first).to_contain_text("44,020\xa0J")
    assert (
        page.locator(".chart-section").first.locator(".barlayer .point").count() == 12
    )
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_cells_can_show_energy(visit):
    page = visit.open("/studies/alpha-lab/uoc-2012-kvm/compare/")
    page.get_by_text("More filters").click()
    page.get_by_label("Show in cells").select_option("Energy per unit of work")

    expect(page.locator("#comparison")).to_contain_text("46,770")
    assert browser_site.query(page)["show"] == "energy"
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_energy_mode_applies_to_whole_page(visit):
    page = visit.open("/studies/alpha-lab/uoc-2012-kvm/compare/")
    page.get_by_text("More filters").click()
    page.get_by_label("Show in cells").select_option("Energy per unit of work")
    expect(page.locator("#comparison")).to_contain_text("46,770")

    page.locator("[data-tools] td").first.get_by_text("baseline").click()
    page.get_by_role("link", name="0.842").first.hover()
    card = page.locator("#cell-card")
    expect(card).to_contain_text("0.842 times the energy for the same work")
    expect(card).to_contain_text("39,380\xa0J, single run")
    browser_site.draw_chart(page)
    assert "Energy" in page.locator(".chart .xtitle").text_content()

    for at in (1, 0):
        page.locator("[data-tools] td").nth(at).get_by_text("compare").click()
    expect(page.locator(".system-pair-table")).to_contain_text("46,770\xa0J")
    page.locator(".system-pair-table a").first.click()
    expect(page.get_by_text("0.842 times the energy of the baseline")).to_be_visible()
    page.get_by_role("link", name="Back to the comparison").click()
    assert browser_site.query(page)["show"] == "energy"
    assert browser_site.violations(page) == []
    assert visit.errors == []


def test_study_without_power_links_to_performance(visit):
    page = visit.open(f"{COMPARE}?show=energy")
    expect(page.locator("#comparison")).to_contain_text(
        "No power measurements for this selection"
    )
    page.get_by_role("link", name="Show relative performance instead").click()
    expect(page.locator("table.grid")).to_be_visible()
    assert visit.errors == []


def test_table_scrolls_below_fixed_header(visit):
    page = visit.open(COMPARE)
    region = page.get_by_role("group", name=re.compile("Ratio to the baseline"))
    head, first = page.locator(".platform").first, page.locator(".case").first
    region.focus()
    top, left = head.bounding_box()["y"], first.bounding_box()["x"]

    region.evaluate("(region) => region.scrollTo(400, 200)")

    assert region.evaluate("(region) => region.scrollTop") == 200
    assert head.bounding_box()["y"] == pytest.approx(top, abs=1)
    assert first.bounding_box()["x"] == pytest.approx(left, abs=1)
    assert page.evaluate("scrollX") == 0


def test_narrow_table_has_no_scroll_region(visit):
    page = visit.open(COMPARE)
    region = page.locator(".comparison")
    expect(region).not_to_have_class(re.compile("fits"))
    page.set_viewport_size({"width": 2600, "height": 900})
    expect(region).to_have_class(re.compile("fits"))

    head = page.locator(".platform").first
    page.evaluate("scrollTo(0, document.querySelector('.grid').offsetTop + 700)")

    assert region.evaluate("(it) => getComputedStyle(it).overflowY") == "visible"
    assert head.bounding_box()["y"] == pytest.approx(0, abs=2)


def test_keyboard_reaches_all_controls(visit):
    page = visit.open(COMPARE)
    focused = page.locator(":focus")

    page.keyboard.press("Tab")
    assert focused.inner_text() == "Skip to content"
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if focused.get_attribute("class") == "scroll comparison":
            break
    page.keyboard.press("Tab")

    assert focused.evaluate("(element) => element.matches('td.cell a')")
    outline = focused.evaluate("(element) => getComputedStyle(element).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/cells/\d+/"))


def test_arrow_keys_move_between_cells_with_cards(visit):
    page = visit.open(f"{COMPARE}?component=network")
    page.locator(".comparison").focus()
    page.keyboard.press("Tab")
    place = """[
        document.activeElement.closest("td").cellIndex,
        document.activeElement.closest("tr").rowIndex,
    ]"""
    column, row = page.evaluate(place)

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")

    assert page.evaluate(place) == [column + 1, row + 1]
    expect(page.locator("#cell-card")).to_be_visible()
    assert page.locator(":focus").get_attribute("aria-describedby") == "cell-card"
    page.keyboard.press("Escape")
    assert not page.locator("#cell-card").is_visible()
    page.keyboard.press("Control+Home")
    assert page.evaluate(place) == [column, row]
    assert visit.errors == []


def test_search_hides_rows_and_updates_url(visit):
    page = visit.open(COMPARE)

    page.get_by_label("Find rows").fill("linpack")

    expect(page.locator(".case:visible")).to_have_count(2)
    page.wait_for_url(re.compile("q=linpack"))
    page.reload()
    expect(page.locator(".case:visible")).to_have_count(2)


def test_links_keep_current_search(visit):
    page = visit.open(f"{COMPARE}?q=linpack")
    search, pin = page.get_by_label("Find rows"), re.compile("^Compare directly")

    search.fill("ramspeed")
    page.get_by_role("link", name=pin).nth(4).click()
    page.wait_for_url(re.compile("pin="))
    assert browser_site.query(page)["q"] == "ramspeed"

    search.fill("")
    page.get_by_role("link", name=pin).nth(5).click()
    page.wait_for_url(re.compile("pin=.*%2C"))
    assert "q" not in browser_site.query(page)

    search.fill("linpack")
    page.get_by_role("link", name="Show all columns").click()
    expect(page.locator("[data-grid] .case:visible")).to_have_count(2)


def test_search_works_with_two_pinned_columns(visit):
    page = visit.open(f"{COMPARE}?q=linpack")
    for at in (4, 5):
        page.get_by_role("link", name=re.compile("^Compare directly")).nth(at).click()
    cases = page.locator(".system-pair-table tbody tr:not(.group):visible")

    expect(cases).to_have_count(1)
    page.get_by_label("Find rows").fill("linpack nowhere")
    expect(cases).to_have_count(0)
    expect(page.get_by_text("No matching rows.")).to_be_visible()
    page.get_by_label("Find rows").fill("")
    page.locator(".system-pair-table tbody tr:not(.group):visible").nth(8).wait_for()
    assert visit.errors == []


def test_search_without_ratios_hides_chart(visit):
    page = visit.open(f"{COMPARE}?q=nowhere")

    expect(page.get_by_role("heading", name="Ratio chart")).to_have_count(0)
    assert visit.errors == []


def test_two_columns_are_pinned_and_unpinned(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^Compare directly")).nth(4).click()
    page.get_by_role("link", name=re.compile("^Compare directly")).nth(5).click()

    assert page.locator(".system-pair-table tbody td .ratio").count() > 0
    page.locator(".chip-pin").first.click()
    expect(page.locator("[data-grid]")).to_be_visible()
    assert browser_site.violations(page) == []
