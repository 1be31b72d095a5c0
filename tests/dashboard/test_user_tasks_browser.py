"""User tasks in a browser on a published study."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from benchmarks.models import Agent, Cell, Flag, Lab, Membership
from benchmarks.studies import checking
from tests.dashboard import browser_site, served_studies
from tests.dashboard.exports.latex_reader import read
from tests.dashboard.marked_language import translated
from tests.reference_studies import load_study

# The mark makes pytest-django set up the database; the site commits its data.
pytestmark = [pytest.mark.browser, pytest.mark.django_db]

STUDY = "/studies/alpha-lab/lmu-2010-esxi/"
COMPARE = f"{STUDY}compare/"
TIMES = "\N{MULTIPLICATION SIGN}"
PASSWORD = "sesame-open-now"


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve a study of single runs with flags, and Carol who may decide on them."""
    with served_studies.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        carol = get_user_model().objects.create_user("carol", password=PASSWORD)
        Membership.objects.create(lab=lab, user=carol, role=Membership.Role.MAINTAINER)
        load_single_runs(lab)
        with served_studies.served() as address:
            yield address


def load_single_runs(lab):
    agent = Agent.objects.create(lab=lab, name="alice")
    load_study(agent, "lmu-2010-esxi", is_single)
    checking.check_due_studies(timedelta(0))


def is_single(run):
    return run.get("scenario", "single") == "single"


def test_user_finds_the_effect_of_amd_v_on_disk_writes(visit):
    page = visit.open(STUDY)

    page.get_by_role("link", name="Factor effects").click()
    page.get_by_role("link", name="Disk", exact=True).click()
    page.get_by_role("link", name=re.compile("Disk throughput . random write")).click()

    row = page.get_by_role("row", name=re.compile("^AMD-V .* off . on"))
    expect(row.first).to_contain_text(re.compile(rf"{TIMES}\s[01]"))
    expect(row.first).to_contain_text(re.compile("clear|possible|within chance"))
    assert page.get_by_role("heading", name=re.compile("random write")).is_visible()
    assert visit.errors == []


def test_user_finds_the_reason_for_a_missing_verdict(visit):
    cell = Cell.objects.filter(efficiency__state="paired", n=1).order_by("pk").first()
    page = visit.open(COMPARE)
    link = page.locator(f'a[href$="/cells/{cell.pk}/"]')

    link.hover()
    card = page.locator("#cell-card")
    why = "A verdict needs at least 5 each."
    expect(card).to_contain_text(why)
    link.click()

    expect(page).to_have_url(re.compile(f"/cells/{cell.pk}/$"))
    expect(page.locator("h1")).to_contain_text("single run, no verdict")
    assert visit.errors == []


def test_user_exports_a_latex_table(visit):
    page = visit.open(f"{COMPARE}?component=network")

    with page.expect_download() as begun:
        page.get_by_role("link", name="LaTeX").click()

    table = begun.value.path().read_text()
    found = read(table)  # raises an error if unbalanced or unescaped
    assert begun.value.suggested_filename == "lmu-2010-esxi.tex"
    assert set(found.closed) & {"tblr", "longtblr"}
    assert "Network" in table
    assert "LINPACK" not in table


def test_user_pins_two_systems_and_compares_them(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^Compare directly")).nth(2).click()
    page.get_by_role("link", name=re.compile("^Compare directly")).nth(3).click()

    expect(page.locator(".system-pair h2").first).to_contain_text("vs.")
    light = page.locator("#comparability")
    expect(light).to_contain_text(re.compile("comparable", re.IGNORECASE))
    page.get_by_text("side by side").click()
    differs = page.get_by_role("group", name="Differences").get_by_role("rowheader")
    assert differs.count() > 0
    assert visit.errors == []


def test_the_url_reproduces_the_view(chromium, site, visit):
    page = visit.open(f"{COMPARE}?component=network&show=overhead")
    page.get_by_label("Find rows").fill("write")
    page.wait_for_url(re.compile("q=write"))
    # The browser requests medians of the matches from the server after a pause.
    expect(page.locator("[data-medians]")).to_contain_text(re.compile(r"n = 1\b"))
    seen = page.locator(".grid").inner_text()

    with browser_site.window(chromium, site) as other:
        shared = other.open(page.url.removeprefix(site))

        assert shared.locator(".grid").inner_text() == seen
        assert shared.get_by_label("Find rows").input_value() == "write"
        assert shared.get_by_label("Show in cells").input_value() == "overhead"


def sign_in(visit, address):
    """Sign Carol in and open an address; return the page."""
    page = visit.open(f"/login/?next={address}")
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    return page


def test_operator_reads_on_the_status_page_what_to_do(visit):
    page = sign_in(visit, "/account/")

    page.get_by_role("link", name="Queue, backups, disk and failed work").click()

    expect(page.locator("[data-summary]")).to_contain_text("attention")
    expect(page.get_by_role("listitem").filter(has_text="Backups")).to_contain_text(
        "Run make backup"
    )
    facts = page.locator(".facts")
    for name in ("Version", "Uploads in the queue", "Failed work", "Disk"):
        expect(facts).to_contain_text(name)
    assert visit.errors == []


def test_user_saves_a_view_and_finds_it_on_the_home_page(visit):
    page = sign_in(visit, f"{COMPARE}?component=network")
    page.get_by_label("Find rows").fill("write")
    page.wait_for_url(re.compile("q=write"))

    page.get_by_role("link", name="Save this view").click()
    page.get_by_label("Name").fill("Network writes")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(visit.url)
    page.get_by_role("link", name="Network writes").click()

    expect(page).to_have_url(re.compile(r"component=network.*q=write"))
    assert visit.errors == []


def test_user_decides_a_flag(visit):
    flag = Flag.objects.filter(severity="impossible").order_by("pk").first()
    page = sign_in(visit, f"{STUDY}flags/")

    shown = page.locator(f"#flag-{flag.pk}")
    shown.get_by_text("Review", exact=True).click()
    shown.get_by_label(re.compile("^Reason")).fill("The other study prints 3108.04.")
    shown.get_by_role("button", name=re.compile("^Confirm")).click()

    page.goto(f"{visit.url}{STUDY}flags/?status=confirmed")
    expect(page.locator(f"#flag-{flag.pk}")).to_contain_text("carol")
    expect(page.locator(f"#flag-{flag.pk}")).to_contain_text("prints 3108.04")
    flag.refresh_from_db()
    assert flag.status == Flag.Status.CONFIRMED


def test_evidence_is_reachable_by_keyboard(visit):
    page = visit.open("/")

    tab_to(page, f'[href="{COMPARE}"]')
    page.keyboard.press("Enter")
    expect(page.locator("[data-grid]")).to_be_visible()
    tab_to(page, ".grid tbody td a")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/cells/\d+/"))
    expect(page.locator("h1")).to_be_visible()
    assert visit.errors == []


def tab_to(page, wanted):
    """Press Tab until an element has the focus."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches('{wanted}')"):
            return
    raise AssertionError(f"Tab never comes to {wanted}")


def test_german_pages_have_commas_in_tables_and_charts(chromium, site, tmp_path):
    with (
        translated("de", tmp_path),
        browser_site.window(chromium, site, locale="de-DE") as visit,
    ):
        page = visit.open(f"{COMPARE}?component=network")
        cells = page.locator(".grid tbody td b").all_inner_texts()
        page.locator("[data-chart]").first.scroll_into_view_if_needed()
        page.wait_for_selector("[data-rendered]")
        signs = page.evaluate(
            "document.querySelector('.chart-canvas')._fullLayout.separators"
        )

        assert any(re.search(r"\d,\d{3}", cell) for cell in cells)
        assert not any("." in cell.replace("…", "") for cell in cells if "," in cell)
        assert signs == ",."
        assert page.locator("html").get_attribute("lang") == "de"
        assert visit.errors == []


def test_engineer_gets_the_answer_for_databases_in_one_step(visit):
    page = visit.open("/")

    page.get_by_label("I run").select_option("application-database")

    expect(page).to_have_url(re.compile("work=application-database"))
    expect(page.locator(".answer-sentence")).to_contain_text("database")
    assert visit.errors == []


def test_manager_reads_the_answer_and_its_strength_without_a_click(visit):
    page = visit.open("/")

    answer = page.locator(".answer-sentence")
    expect(answer).to_contain_text(re.compile("reaches .*% of bare-metal speed"))
    expect(answer).to_contain_text(re.compile("evidence", re.IGNORECASE))
    page.locator(".answer-row").filter(has_text="%").first.click()

    expect(page.locator("h1")).to_contain_text("VMware ESXi")
    assert visit.errors == []


def test_reviewer_gets_from_a_number_to_its_printed_source_in_two_clicks(visit):
    cell = Cell.objects.filter(efficiency__state="paired", n=1).order_by("pk").first()
    page = visit.open(COMPARE)

    page.locator(f'a[href$="/cells/{cell.pk}/"]').click()
    place = page.locator("details.reading summary").first
    expect(place).to_contain_text("Lemberger 2010, Ergebnisse: ")
    place.click()

    number = f"{cell.mean:g}"
    expect(page.locator("details.reading").first).to_contain_text(number)
    assert visit.errors == []


def test_home_page_has_few_tab_stops(visit):
    page = visit.open("/")

    stops = page.locator(
        "header :is(a, button, input), "
        "main :is(a, button, select, input, summary, [tabindex='0'])"
    )
    reachable = stops.evaluate_all(
        "nodes => nodes.filter((node) => node.tabIndex >= 0 && node.checkVisibility())"
        ".length"
    )
    assert reachable <= 60


@pytest.mark.parametrize("size", [(1400, 900), (390, 844)])
def test_the_answer_is_visible_without_scrolling(chromium, site, size):
    width, height = size
    with browser_site.window(
        chromium, site, viewport={"width": width, "height": height}
    ) as visit:
        page = visit.open("/")

        rows = page.locator(".answer-rows li")
        assert rows.count() == 4
        last = rows.last.bounding_box()
        assert last["y"] + last["height"] <= height
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_arrow_keys_move_in_the_evidence_matrix(visit):
    page = visit.open("/")
    first = page.locator("[data-matrix] td a").first

    first.focus()
    page.keyboard.press("ArrowRight")

    index = page.evaluate(
        "[...document.querySelectorAll('[data-matrix] td a')]"
        ".indexOf(document.activeElement)"
    )
    assert index == 1
