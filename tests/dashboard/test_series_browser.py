"""Sweep, network and trend pages in a browser, in dark mode and on a phone."""

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.models import Agent, Lab
from benchmarks.studies import saving, systems
from benchmarks.uploads import intake, processing
from tests.dashboard import browser_site, served_studies

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

STUDY = "/studies/alpha-lab/lines/"
EVIL = "<b>bold</b><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve a study with sizes, network paths and dates, and markup in names."""
    with served_studies.committed(django_db_blocker):
        load()
        with served_studies.served() as address:
            yield address


def load():
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    agent = Agent.objects.create(lab=lab, name="alice")
    saving.save_study(lab=lab, slug="lines", title="Lines", visibility="public")
    systems.register_host(lab=lab, slug="alpha", facts={"network": "Gigabit Ethernet"})
    sizes = [
        ({"block_size": size}, name, 10.0 * at + 3)
        for at, size in enumerate(("4 KiB", "32 KiB", "1 MiB", "4 MiB"))
        for name in ("native", EVIL)
    ]
    paths = [
        ({"from": start, "to": end}, "Xen", value)
        for start, end, value in (("a", EVIL, 90.0), (EVIL, "a", 30.0))
    ]
    dates = [({"operation": "write"}, "Xen", 50.0 + at % 3) for at in range(24)]
    documents = [run(at, *it) for at, it in enumerate([*sizes, *paths, *dates])]
    intake.submit_runs(agent=agent, documents=documents)
    processing.process_due_uploads()


def run(number, parameters, hypervisor, value):
    sample = {"metric": "network throughput", "parameters": parameters}
    began = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=number)
    return {
        "key": f"00000000-0000-4000-8000-{number:012}",
        "study": "lines",
        "system": {"host": "alpha", "hypervisor": hypervisor, "guest_os": "os"},
        "tool": "iometer",
        "started_at": began.isoformat(),
        "samples": [{**sample, "value": value, "unit": "MB/s"}],
    }


@pytest.fixture(params=["dark", "phone"])
def visit(request, chromium, site):
    options = {
        "dark": {"color_scheme": "dark"},
        "phone": {"viewport": {"width": 360, "height": 740}},
    }
    with browser_site.window(chromium, site, **options[request.param]) as opened:
        yield opened


def check(visit, page):
    assert browser_site.too_wide(page) == []
    assert browser_site.violations(page) == []
    assert page.evaluate("window.intrusions") == []
    assert visit.errors == []


def test_the_sweep_chart_has_every_cell_of_the_table(visit):
    page = visit.open(f"{STUDY}sweep/")
    browser_site.draw_chart(page)

    points = page.locator(".chart .scatterlayer .point").count()
    assert points == page.locator(".sweep-table td small").count() == 8
    check(visit, page)


def test_the_network_page_works_without_a_chart(visit):
    page = visit.open(f"{STUDY}network/")

    assert page.locator("td.medium").count() == 2
    assert page.locator("td .mark").first.inner_text() == "⇄"
    assert "30" in page.locator("td.medium").first.inner_text()
    check(visit, page)


def test_the_trend_chart_has_all_dates(visit):
    page = visit.open(f"{STUDY}trend/")
    browser_site.draw_chart(page)

    points = page.locator(".chart .scatterlayer .point").count()
    assert points == page.locator("tbody tr").count() > 0
    check(visit, page)
