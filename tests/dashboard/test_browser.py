"""The pages in a real browser, used as people use them."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.models import Agent, Cell, Lab
from benchmarks.studies import saving
from benchmarks.studies import saving as systems
from benchmarks.uploads import intake, processing
from running.browser import FAMILIES, started
from tests.dashboard import browsing, serving
from tests.dashboard.marking import translated
from tests.reference import load_study

# The mark makes pytest-django set up the database; the site commits what it shows.
pytestmark = [pytest.mark.browser, pytest.mark.django_db]

STUDY = "/studies/alpha-lab/lmu-2010-xen/"
COMPARE = f"{STUDY}compare/"
CORUNS = f"{STUDY}co-runs/"
ENERGY = "/studies/alpha-lab/uoc-2012-kvm/energy/"
HOSTILE = "/studies/alpha-lab/hostile/"
INFLUENCE = "/studies/alpha-lab/factorial/factor-effects/"
PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    '"><svg onload=alert(4)>',
    '<a href="javascript:alert(5)">click</a>',
    "javascript:alert(6)",
    "<b>bold</b>",
    "{{ 7|add:7 }}{% now 'Y' %}",
    "%{y}${alert(8)}",
    "$\\href{javascript:alert(9)}{x}$",
]


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve one reference study, and one whose every name is an attack."""
    with serving.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        load_study(agent, "lmu-2010-xen")
        load_study(agent, "uoc-2012-kvm")
        load_hostile(lab, agent)
        load_factorial(lab, agent)
        with serving.served() as address:
            yield address


def load_hostile(lab, agent):
    name = " ".join(PAYLOADS)
    saving.save_study(
        lab=lab, slug="hostile", title=name, note=name, visibility="public"
    )
    systems.register_host(lab=lab, slug="evil", title=name, facts={name: name})
    intake.submit_runs(
        agent=agent, documents=[attack(at, each) for at, each in enumerate(PAYLOADS)]
    )
    intake.submit_runs(agent=agent, documents=[attack(99, "plain", "native")])
    processing.drain()


def attack(number, name, hypervisor=None):
    options = {} if hypervisor else {"storage": name}
    return {
        "key": f"00000000-0000-4000-8000-{number:012}",
        "study": "hostile",
        "system": {"host": "evil", "hypervisor": hypervisor or name}
        | {"guest_os": "os", "options": options},
        "tool": "iometer",
        "document": name,
        "table": name,
        "samples": [
            {
                "metric": "disk throughput",
                "parameters": {"operation": "read"},
                "value": 10 + number,
                "unit": "MB/s",
            }
        ],
    }


def load_factorial(lab, agent):
    """Eight guests in all combinations: tools help under AMD-V only."""
    saving.save_study(lab=lab, slug="factorial", title="Factorial", visibility="public")
    intake.submit_runs(agent=agent, documents=[guest(at) for at in range(8)])
    processing.drain()


def guest(number):
    tools, amd_v, vcpus = number & 1, number >> 1 & 1, number >> 2 & 1
    options = {"guest_tools": ("absent", "on")[tools], "hw_virt": ("off", "on")[amd_v]}
    document = attack(200 + number, "plain", "Xen")
    document["samples"][0]["value"] = (40 if tools and amd_v else 10) + number % 3 / 10
    document["system"] |= {"vcpus": 1 + vcpus, "options": options}
    return document | {"study": "factorial"}


def cell_texts(page):
    return page.locator(".cell b").all_inner_texts()


def test_choosing_in_a_menu_changes_the_table_and_the_address(visit):
    page = visit.open(COMPARE)

    assert not page.get_by_role("button", name="Compare").is_visible()
    page.get_by_label("Component").select_option("network")
    expect(page.locator(".group")).to_have_count(1)

    assert browsing.query(page)["component"] == "network"
    assert browsing.query(page)["scenario"] == "single"
    assert "0.247" in cell_texts(page)
    expect(page.locator("[data-status]")).to_contain_text("4 cases")
    shown = cell_texts(page)
    page.reload()
    assert cell_texts(page) == shown
    assert visit.errors == []


def test_going_back_shows_what_was_there_before(visit):
    page = visit.open(COMPARE)
    before = cell_texts(page)

    page.get_by_label("Component").select_option("CPU")
    expect(page.locator(".group")).to_have_count(1)
    page.go_back()
    expect(page.locator(".group")).to_have_count(4)

    assert cell_texts(page) == before
    assert page.get_by_label("Component").input_value() == ""


def test_everything_works_without_scripts(chromium, site):
    with browsing.window(chromium, site, java_script_enabled=False) as visit:
        page = visit.context.new_page()
        page.goto(site + COMPARE)

        page.get_by_label("Component").select_option("network")
        page.get_by_role("button", name="Compare").click()

        assert "component=network" in page.url
        assert "0.247" in cell_texts(page)
        assert page.locator("[data-chart] .chart-picture").is_visible()
        assert not page.locator("[data-chart] button").first.is_visible()
        assert not page.locator("[data-theme-toggle]").is_visible()
        page.get_by_role("link", name=re.compile("^0.247")).first.click()
        assert page.get_by_text("52.97 MB/s").first.is_visible()


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


def test_a_picture_stands_there_until_a_chart_is_looked_at_and_plotly_has_come(visit):
    held = []
    visit.context.route("**/plotly*.js", lambda route: held.append(route))
    page = visit.open(COMPARE)
    picture = page.locator(".chart-picture")
    assert held == []

    with page.expect_request("**/plotly*.js"):
        page.locator("[data-chart]").scroll_into_view_if_needed()
    expect(picture.get_by_text("LINPACK: n=2000").first).to_be_visible()
    paths = picture.locator(".sketch-field .mark:not(.hole)").all()
    marks = sum((path.get_attribute("d") or "").count("h0") for path in paths)

    held.pop().continue_()
    expect(page.locator("[data-drawn]")).to_have_count(1)
    expect(picture).to_be_hidden()
    assert marks == page.locator(".scatterlayer .point").count()
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_where_plotly_does_not_come_the_picture_stays(visit):
    visit.context.route("**/plotly*.js", lambda route: route.abort())
    page = visit.open(COMPARE)
    page.locator("[data-chart]").scroll_into_view_if_needed()
    expect(page.get_by_text("This chart could not be drawn")).to_be_visible()
    expect(page.locator(".chart-picture")).to_be_visible()

    visit.context.unroute("**/plotly*.js")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-drawn]")).to_have_count(1)
    expect(page.locator(".chart-picture")).to_be_hidden()


def test_a_chart_is_to_be_had_as_picture_and_as_numbers(visit):
    page = visit.open(f"{COMPARE}?component=network")
    browsing.draw_chart(page)

    files = {}
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


def test_the_citation_is_copied(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(STUDY)
        page.get_by_role("button", name="Copy").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("@techreport{lmu-2010-xen,")
        assert visit.errors == []


def test_the_link_to_a_view_is_copied_as_it_is_now(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(COMPARE)
        page.get_by_label("Component").select_option("network")
        page.wait_for_url(re.compile("component=network"))
        page.get_by_role("button", name="Copy link").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_what_may_not_be_copied_is_marked_and_said(visit):
    deny = "() => { navigator.clipboard.writeText = () => Promise.reject() }"
    page = visit.open(STUDY)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("alert")).to_contain_text("does not let this page copy")
    marked = page.evaluate("getSelection().toString()")
    assert marked.startswith("@techreport{lmu-2010-xen,")

    page = visit.open(COMPARE)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("alert")).to_contain_text("stands in the address bar")
    assert visit.errors == []


def test_the_report_fits_a_phone_and_leads_to_its_parts(chromium, site):
    with browsing.window(chromium, site, viewport={"width": 360, "height": 740}) as it:
        page = it.open(f"{STUDY}report/")
        page.get_by_role("link", name="The study's own tables").click()

        assert page.url.endswith("#tables")
        assert page.get_by_role("group", name="Net Linux").first.is_visible()
        assert browsing.too_wide(page) == []
        assert browsing.violations(page) == []
        assert it.errors == []


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
        drawing.locator("td").first.evaluate("""cell => {
            const [point, between] = document.documentElement.dataset.separators;
            const range = `0${point}96 to 1${between}050${point}5`;
            cell.textContent = `${range} (\\u22122${point}5; Ubuntu 9.04, 4k,32k)`;
        }""")
        with page.expect_download() as download:
            drawing.get_by_role("button", name="CSV").click()

        text = Path(download.value.path()).read_text()
        assert "0.96 to 1050.5 (-2.5; Ubuntu 9.04, 4k,32k)" in text


def test_the_wait_can_be_taken_off_the_energy(visit):
    page = visit.open(ENERGY)
    page.get_by_label("Idle power (W)").fill("110")
    page.get_by_role("button", name="Subtract idle power").click()
    draw_all(page, 4)

    assert browsing.query(page) == {"waiting": "110"}
    expect(page.get_by_role("table").first).to_contain_text("44,021\xa0J")
    assert page.locator(".drawing").first.locator(".barlayer .point").count() == 12
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_cells_can_show_the_energy_of_the_work(visit):
    page = visit.open("/studies/alpha-lab/uoc-2012-kvm/compare/")
    page.get_by_label("Cells show").select_option("Energy per work")

    expect(page.locator("#comparison")).to_contain_text("46,767")
    assert browsing.query(page)["show"] == "energy"
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_who_switches_to_energy_gets_energy_everywhere(visit):
    page = visit.open("/studies/alpha-lab/uoc-2012-kvm/compare/")
    page.get_by_label("Cells show").select_option("Energy per work")
    expect(page.locator("#comparison")).to_contain_text("46,767")

    page.locator("[data-tools] td").first.get_by_text("baseline").click()
    page.get_by_role("link", name="0.842").first.hover()
    card = page.locator("#cell-card")
    expect(card).to_contain_text("0.842 times the energy for the same work")
    expect(card).to_contain_text("39,384\xa0J, single run")
    browsing.draw_chart(page)
    assert "Energy" in page.locator(".chart .xtitle").text_content()

    for at in (1, 0):
        page.locator("[data-tools] td").nth(at).get_by_text("compare").click()
    expect(page.locator(".direct-table")).to_contain_text("46,767\xa0J")
    page.locator(".direct-table a").first.click()
    expect(page.get_by_text("0.842 times the energy of the baseline")).to_be_visible()
    page.get_by_role("link", name="Back to the comparison").click()
    assert browsing.query(page)["show"] == "energy"
    assert browsing.violations(page) == []
    assert visit.errors == []


def test_a_study_without_power_leads_back_to_efficiency(visit):
    page = visit.open(f"{COMPARE}?show=energy")
    expect(page.locator("#comparison")).to_contain_text("No power was measured")
    page.get_by_role("link", name="Show relative performance instead").click()
    expect(page.locator("table.grid")).to_be_visible()
    assert visit.errors == []


def draw_all(page, count):
    """Scroll to every chart and wait until it is drawn."""
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
    expect(page.locator("[data-drawn]")).to_have_count(count)


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
        page = visit.open(INFLUENCE)
        for chart in page.locator("[data-chart]").all():
            chart.scroll_into_view_if_needed()
        expect(page.locator("[data-drawn]")).to_have_count(3)

        page.locator(".point").last.hover(force=True)
        expect(page.locator(".hovertext")).to_have_count(1)
        assert page.locator(".picture .lines path").count() == 4
        assert browsing.violations(page) == []
        page.get_by_role("link", name="Efficiency").click()
        assert browsing.query(page) == {"response": "efficiency"}
        assert visit.errors == []


ADDRESSES = [
    *("/", STUDY, COMPARE, f"{STUDY}factor-effects/", INFLUENCE),
    *(HOSTILE, f"{HOSTILE}compare/", f"{HOSTILE}factor-effects/", f"{HOSTILE}report/"),
    *(f"{STUDY}runs/", "/login/", "/nothing/"),
]
PHONE = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
SMALLER = {**PHONE, "viewport": {"width": 320, "height": 640}}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_page_fits_a_phone_and_keeps_the_policy(chromium, site, family):
    with (
        started(chromium.browser_type, family=family) as browser,
        browsing.window(browser, site, **SMALLER) as visit,
    ):
        hostile = Cell.objects.filter(study__slug="hostile").first()
        cell = Cell.objects.filter(efficiency__ratio__gt=0).first()
        own = [f"/runs/{each.study.runs.first().pk}/" for each in (cell, hostile)]
        cells = [f"{STUDY}cells/{cell.pk}/", f"{HOSTILE}cells/{hostile.pk}/"]
        for address in [*ADDRESSES, *own, *cells]:
            page = visit.open(address)
            assert browsing.too_wide(page) == [], address
            page.set_viewport_size(PHONE["viewport"])
            assert browsing.too_wide(page) == [], address
            assert browsing.violations(page) == [], address
            page.close()
    assert [each for each in visit.errors if "404" not in each] == []


@pytest.mark.parametrize("address", [CORUNS, ENERGY])
def test_pages_of_charts_fit_a_phone_and_keep_the_policy(chromium, site, address):
    with browsing.window(chromium, site, **PHONE) as visit:
        page = visit.open(address)
        page.locator("[data-chart]").first.scroll_into_view_if_needed()
        page.wait_for_selector("[data-drawn]")
        assert browsing.too_wide(page) == []
        assert browsing.violations(page) == []
        assert visit.errors == []


def test_the_table_scrolls_in_its_region_under_a_head_that_stays(visit):
    page = visit.open(COMPARE)
    region = page.get_by_role("group", name=re.compile("Ratio to the baseline"))
    head, first = page.locator(".platform").first, page.locator(".case").first
    region.focus()
    top, left = head.bounding_box()["y"], first.bounding_box()["x"]

    region.evaluate("(region) => region.scrollTo(400, 300)")

    assert region.evaluate("(region) => region.scrollTop") == 300
    assert head.bounding_box()["y"] == pytest.approx(top, abs=1)
    assert first.bounding_box()["x"] == pytest.approx(left, abs=1)
    assert page.evaluate("scrollX") == 0


def test_the_keyboard_reaches_everything(visit):
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


def test_a_cell_leads_to_both_runs_and_their_uploads(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^0.247")).first.click()
    assert page.locator(".sum b").all_inner_texts() == [
        "0.247",
        "13.08\xa0MB/s",
        "52.97\xa0MB/s",
    ]
    page.locator("tbody th a").first.click()
    assert "Gebhardt 2010" in page.locator("pre").inner_text()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_follows_the_system_until_one_is_chosen(chromium, site):
    with browsing.window(chromium, site, color_scheme="dark") as visit:
        page = visit.open(COMPARE)
        dark = background(page)
        browsing.draw_chart(page)
        ink = "document.querySelector('.xtick text').style.fill"
        before = page.evaluate(ink)

        toggle = page.get_by_role("button", name=re.compile("^Theme"))
        toggle.click()
        assert background(page) == dark  # "dark" was chosen
        toggle.click()
        light = background(page)
        page.wait_for_function(f"{ink} !== '{before}'")

        assert light != dark
        page.reload()
        assert background(page) == light
        assert visit.errors == []


@pytest.mark.parametrize("page_name", ["", "compare/", "runs/", "co-runs/"])
def test_names_that_are_attacks_are_only_shown(visit, page_name):
    page = visit.open(HOSTILE + page_name)
    if page_name == "compare/":
        browsing.draw_chart(page)
        page.locator(".chart .point").first.hover(force=True)

    assert page.evaluate("window.intrusions") == []
    assert browsing.violations(page) == []
    assert visit.errors == []
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.locator("img").count() == 0


def test_arrow_keys_move_between_cells_and_a_card_tells_more(visit):
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


def test_searching_hides_rows_at_once_and_stands_in_the_address(visit):
    page = visit.open(COMPARE)

    page.get_by_label("Find rows").fill("linpack")

    expect(page.locator(".case:visible")).to_have_count(2)
    page.wait_for_url(re.compile("q=linpack"))
    page.reload()
    expect(page.locator(".case:visible")).to_have_count(2)


def test_what_is_searched_for_now_is_taken_along(visit):
    page = visit.open(f"{COMPARE}?q=linpack")
    search, pin = page.get_by_label("Find rows"), re.compile("^Compare directly")

    search.fill("ramspeed")
    page.get_by_role("link", name=pin).nth(4).click()
    page.wait_for_url(re.compile("pin="))
    assert browsing.query(page)["q"] == "ramspeed"

    search.fill("")
    page.get_by_role("link", name=pin).nth(5).click()
    page.wait_for_url(re.compile("pin=.*%2C"))
    assert "q" not in browsing.query(page)

    search.fill("linpack")
    page.get_by_role("link", name="Show all columns").click()
    expect(page.locator("[data-grid] .case:visible")).to_have_count(2)


def test_two_pinned_columns_are_searched_at_once_too(visit):
    page = visit.open(f"{COMPARE}?q=linpack")
    for at in (4, 5):
        page.get_by_role("link", name=re.compile("^Compare directly")).nth(at).click()
    cases = page.locator(".direct-table tbody tr:not(.group):visible")

    expect(cases).to_have_count(1)
    page.get_by_label("Find rows").fill("linpack nowhere")
    expect(cases).to_have_count(0)
    expect(page.get_by_text("No row has these words.")).to_be_visible()
    page.get_by_label("Find rows").fill("")
    page.locator(".direct-table tbody tr:not(.group):visible").nth(8).wait_for()
    assert visit.errors == []


def test_a_search_that_leaves_no_ratio_leaves_no_chart(visit):
    page = visit.open(f"{COMPARE}?q=nowhere")

    expect(page.get_by_role("heading", name="Chart of the ratios")).to_have_count(0)
    assert visit.errors == []


def test_two_columns_are_pinned_and_let_go(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^Compare directly")).nth(4).click()
    page.get_by_role("link", name=re.compile("^Compare directly")).nth(5).click()

    assert page.locator(".direct-table tbody td .ratio").count() > 0
    page.locator(".chip-pin").first.click()
    expect(page.locator("[data-grid]")).to_be_visible()
    assert browsing.violations(page) == []
