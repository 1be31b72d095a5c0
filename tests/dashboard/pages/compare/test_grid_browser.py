"""A long comparison in a real browser, loaded in parts."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.models import Agent, Lab
from benchmarks.studies import saving, systems
from benchmarks.uploads import intake, processing
from dashboard.pages.compare import page as grid
from tests.dashboard import browser_site, served_studies

# The database mark creates the database if this file runs alone.
pytestmark = [pytest.mark.browser, pytest.mark.django_db]

COMPARE = "/studies/alpha-lab/long/compare/"
CASES = 160
SYSTEMS = ("native", "Xen", "KVM")
ROWS = "[...document.querySelectorAll('tbody tr')].map((row) => row.textContent)"


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve a study with more rows than are sent at first."""
    with served_studies.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        saving.save_study(lab=lab, slug="long", title="Long", visibility="public")
        systems.register_host(lab=lab, slug="alpha")
        documents = [run(at, name) for at, name in enumerate(SYSTEMS)]
        intake.submit_runs(agent=agent, documents=documents)
        processing.process_due_uploads()
        with served_studies.served() as address:
            yield address


@pytest.fixture
def sheet(chromium, site):
    """Open its comparison."""
    with browser_site.window(chromium, site) as visit:
        yield visit.open(COMPARE)
        assert visit.errors == []


def run(number, hypervisor):
    return {
        "key": f"00000000-0000-4000-8000-{number:012}",
        "study": "long",
        "system": {"host": "alpha", "hypervisor": hypervisor, "guest_os": "os"},
        "tool": "iometer",
        "samples": [sample(number, case) for case in range(CASES)],
    }


def sample(number, case):
    operation, size = ("read", "write")[case % 2], f"{case // 2 + 1} KiB"
    return {
        "metric": "network throughput",
        "parameters": {"operation": operation, "block_size": size},
        "value": 1000.0 + case - 10 * number,
        "unit": "MB/s",
    }


def show_overhead(sheet):
    sheet.get_by_text("More filters").click()
    sheet.get_by_label("Show in cells").select_option("overhead")


def wait_for_new_table(sheet):
    """Wait until the updated table is complete."""
    expect(sheet.locator(".cell b").nth(1)).to_contain_text("%")
    expect(sheet.locator(".comparison:not([aria-busy])")).to_have_count(1)


def test_url_has_only_changed_choices(sheet):
    show_overhead(sheet)
    wait_for_new_table(sheet)

    expect(sheet).to_have_url(re.compile(r"/compare/\?show=overhead$"))


def test_table_that_continues_has_a_shadow(sheet):
    sheet.set_viewport_size({"width": 320, "height": 500})
    frame = sheet.locator("[data-scroll-frame]")
    expect(frame).to_have_class(re.compile("has-more"))

    sheet.locator(".comparison").evaluate("(region) => region.scrollTo(9999, 0)")
    expect(frame).not_to_have_class(re.compile("has-more"))


def test_updated_table_equals_new_page(sheet):
    show_overhead(sheet)
    wait_for_new_table(sheet)

    rows = sheet.evaluate(ROWS)
    assert sheet.locator("td.cell a:not([tabindex])").count() == 0
    sheet.reload()
    assert sheet.evaluate(ROWS) == rows
    assert len(rows) == CASES + sheet.locator("tr.group").count()


def test_search_during_load_covers_whole_table(sheet):
    show_overhead(sheet)
    sheet.get_by_label("Find rows").press_sequentially("write 51")
    wait_for_new_table(sheet)

    expect(sheet.locator(".case:visible")).to_have_count(1)
    expect(sheet.locator("[data-status]")).to_have_text(f"1 of {CASES} rows")


def test_search_during_request_is_in_url(sheet):
    search, held = sheet.get_by_label("Find rows"), []
    sheet.route("**/compare/?*", lambda route: held.append(route))
    show_overhead(sheet)
    search.press_sequentially("write 51")
    sheet.wait_for_url("**q=write+51")
    held[0].continue_()
    wait_for_new_table(sheet)

    expect(sheet).to_have_url(re.compile("show=overhead.*q=write\\+51$"))


def test_printing_during_load_includes_all_rows(sheet):
    sheet.evaluate(
        """document.addEventListener("htmx:afterSwap", () => {
          dispatchEvent(new Event("beforeprint"));
          window.printed = document.querySelectorAll("tbody tr .case").length;
        })"""
    )
    show_overhead(sheet)
    wait_for_new_table(sheet)

    assert sheet.evaluate("window.printed") == CASES
    assert sheet.locator("tbody tr .case").count() == CASES


def test_updated_table_keeps_scroll_position(sheet):
    sheet.set_viewport_size({"width": 320, "height": 500})
    place = "(region) => [region.scrollLeft, region.scrollTop]"
    region = sheet.locator(".comparison")
    region.evaluate("(region) => region.scrollTo(20, 1500)")
    left, top = region.evaluate(place)

    show_overhead(sheet)
    wait_for_new_table(sheet)

    assert (left, top) == (20, 1500)
    assert region.evaluate(place) == [left, top]


@pytest.mark.parametrize("keys", ["Control+End", "Control+Home"])
def test_layout_is_complete_after_jump(sheet, keys):
    sheet.locator("td.cell a").nth(CASES).focus()
    sheet.keyboard.press(keys)

    expect(sheet.locator("[data-deferred]")).to_have_count(0)


def test_layout_is_complete_after_cleared_search(sheet):
    search = sheet.get_by_label("Find rows")
    search.press_sequentially("write 51")
    search.clear()

    expect(sheet.locator(".case:visible")).to_have_count(CASES)
    expect(sheet.locator("[data-deferred]")).to_have_count(0)


def test_search_restores_rows_after_empty_update(sheet):
    """As after an update, `loadDeferredRows` is called though no rows are deferred."""
    expect(sheet.locator("[data-deferred]")).to_have_count(0)
    sheet.evaluate("loadDeferredRows()")
    search = sheet.get_by_label("Find rows")
    search.press_sequentially("write 51")
    search.clear()

    expect(sheet.locator(".case:visible")).to_have_count(CASES)
    expect(sheet.locator("[data-deferred]")).to_have_count(0)


def test_focus_at_end_is_visible(sheet):
    sheet.locator("td.cell a").first.focus()
    sheet.keyboard.press("Control+End")

    last = sheet.locator("td.cell a").last
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    sheet.keyboard.press("Control+Home")
    expect(sheet.locator("td.cell a").first).to_be_in_viewport()


def test_focused_cell_is_visible_on_phone(sheet):
    sheet.set_viewport_size({"width": 320, "height": 640})
    sheet.locator("td.cell a").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        sheet.keyboard.press(key)
        cell = sheet.locator("td.cell a:focus").bounding_box()
        heading = sheet.locator("tr:has(a:focus) .case").bounding_box()

        assert heading["x"] + heading["width"] <= cell["x"] + 1
        assert cell["x"] + cell["width"] <= 320 + 1


def test_group_header_spans_rows(sheet):
    width = "(row) => Math.round(row.lastElementChild.getBoundingClientRect().right)"
    group, row = sheet.locator("tr.group").first, sheet.locator(".case").first

    rows = row.locator("xpath=..")
    assert group.evaluate(width) == rows.evaluate(width)


def test_printed_columns_align_with_headers(sheet):
    sheet.emulate_media(media="print")
    left = "(cell) => Math.round(cell.getBoundingClientRect().left)"

    heads = sheet.locator(".platform").evaluate_all(f"(all) => all.map({left})")
    cells = sheet.locator("tr:has(> .case)").first.locator("td")
    assert cells.evaluate_all(f"(all) => all.map({left})") == heads


def test_search_in_wide_table_loads_all(chromium, site, monkeypatch):
    monkeypatch.setattr(grid, "MAX_INITIAL_TABLE", 100)
    monkeypatch.setattr(grid, "INITIAL_CELLS", 90)
    with browser_site.window(chromium, site) as visit:
        sheet = visit.open(f"{COMPARE}?show=value")
        rows = sheet.locator("tbody tr:has(td):not([hidden])")
        expect(rows).to_have_count(30)

        sheet.locator("[data-search]").press_sequentially("write 80 KiB")

        expect(sheet.locator("tbody tr:has(td)")).to_have_count(CASES)
        expect(rows).to_have_count(1)
        assert visit.errors == []
