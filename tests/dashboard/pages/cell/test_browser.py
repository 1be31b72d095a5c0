"""The page of a cell in a real browser: two modes, a missing verdict."""

from datetime import timedelta

import pytest
from django.db import connection
from playwright.sync_api import expect

from benchmarks.models import Agent, Cell, Lab
from benchmarks.studies import checking
from tests.dashboard import browser_site, served_studies
from tests.reference_studies import load_study

pytestmark = pytest.mark.browser

COMPARE = "/studies/alpha-lab/inqbus-2008-io/compare/"


@pytest.fixture
def site(transactional_db):
    """Serve the study whose disk has two modes."""
    connection.close()  # the server of another module may have closed it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    agent = Agent.objects.create(lab=lab, name="alice")
    load_study(agent, "inqbus-2008-io", lambda run: run["tool"] == "hdparm")
    checking.check_due_studies(timedelta(0))
    with served_studies.served() as address:
        yield address


def cell_of(host):
    return Cell.objects.get(system__host__slug=host)


def draw(page, slug):
    """Scroll to a chart and return it once it is drawn."""
    chart = page.locator(f"[aria-labelledby=chart-{slug}] [data-chart]")
    chart.scroll_into_view_if_needed()
    expect(chart).to_have_attribute("data-rendered", "")
    return chart


def test_two_modes_of_eleven_runs_are_shown(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = visit.open(f"{COMPARE}../runs/?cell={cell_of('inqbus-server-b').pk}")

        headline = page.get_by_role("heading", level=1)
        expect(headline).to_contain_text("two speeds, 59 MB/s (64%) and 109 MB/s (36%)")
        expect(headline).to_contain_text("repeats every 3 runs")
        assert "77.2" not in page.locator("main").inner_text()
        chart = draw(page, "order")
        assert chart.locator(".scatterlayer .point").count() == 11
        expect(chart.locator(".chart-series")).to_contain_text("109 MB/s (36%)")
        chart.locator(".point").nth(7).hover(force=True)
        expect(chart.locator(".hovertext")).to_contain_text("MB/s")
        for slug in ("strip", "histogram", "ecdf"):
            draw(page, slug)
        assert browser_site.violations(page) == []
        assert visit.errors == []


def test_reader_finds_reason_of_missing_verdict_and_upload(chromium, site):
    cell, other = cell_of("inqbus-server-a"), cell_of("inqbus-server-b")
    phone = {"viewport": {"width": 360, "height": 740}}
    with browser_site.window(chromium, site, **phone, color_scheme="dark") as visit:
        page = visit.open(f"{COMPARE}../cells/{cell.pk}/?baseline={other.system_id}")

        expect(page.locator(".verdict")).to_contain_text("not assessed")
        expect(page.locator(".verdict")).to_contain_text("two speeds")
        expect(page.get_by_role("region", name="Not comparable")).to_contain_text(
            "Different hosts (inqbus-server-a, inqbus-server-b)"
        )
        table = page.get_by_text("Show data as table").first
        table.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Hodges-Lehmann")).to_be_visible()
        page.locator(".reading summary").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".reading mark").first).to_contain_text("105.75")
        assert browser_site.too_wide(page) == []
        assert browser_site.violations(page) == []
        assert visit.errors == []


def test_tables_replace_charts_without_scripts(chromium, site):
    with browser_site.window(chromium, site, java_script_enabled=False) as visit:
        page = visit.context.new_page()
        page.goto(
            f"{site}/studies/alpha-lab/inqbus-2008-io/cells/"
            f"{cell_of('inqbus-server-b').pk}/"
        )

        assert not page.get_by_text("Drawing").first.is_visible()
        page.get_by_text("Show data as table").nth(1).click()
        expect(page.get_by_role("cell", name="108.43").first).to_be_visible()
        page.locator(".reading summary").first.click()
        assert page.get_by_role("link", name="View the upload").first.is_visible()
