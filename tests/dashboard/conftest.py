"""Fixtures for page tests."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.models import Cell, Flag, Host, Job
from benchmarks.studies import checking
from running import headless_browser
from tests.dashboard import browser_site, growing_study


@pytest.fixture(scope="session", autouse=True)
def orm_beside_playwright() -> Iterator[None]:
    """Allow queries while Playwright's event loop runs in the same thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start one Chromium for the tests of a module."""
    with headless_browser.shared_chromium() as started:
        yield started


@pytest.fixture
def visit(chromium: Any, site: str) -> Iterator[browser_site.Visit]:
    """Open a window on the site of a module."""
    with browser_site.window(chromium, site) as opened:
        yield opened


@pytest.fixture
def submit(submit):
    """Accept documents, process them and check their studies, as pages expect."""

    def take(*documents):
        submissions = submit(*documents)
        checking.check_due_studies(timedelta(0))
        return submissions

    return take


@pytest.fixture
def load_study(load_study):
    """Load a published study and check it."""

    def load(*arguments, **options):
        study = load_study(*arguments, **options)
        checking.check_due_studies(timedelta(0))
        return study

    return load


@pytest.fixture
def pair(submit, run_document, xen):
    """Submit a native and a Xen run of one benchmark; return the Xen cell."""
    submit(
        run_document(52.97, document="Gebhardt 2010", table="Net Linux"),
        run_document(13.08, document="Gebhardt 2010", system=xen),
    )
    return Cell.objects.get(system__hypervisor="Xen")


@pytest.fixture
def text(client):
    """Return a function that gets an existing page as HTML."""

    def get(address, **kwargs):
        answer = client.get(address, **kwargs)
        assert answer.status_code == 200, answer.status_code
        return answer.content.decode()

    return get


@pytest.fixture
def grow(run_document, xen, submit, study, host):
    """Return a function that adds systems with results for every page.

    The systems are on two machines, so that pages must load the names of machines.
    """
    for slug in growing_study.HOSTS:
        Host.objects.get_or_create(lab=study.lab, slug=slug)

    def to(systems):
        for at in range(systems):
            options = {"swap": f"disk {at}", "layers": "qemu-tcg > xen"}
            system = {**xen, "hypervisor_version": f"4.{at}", "options": options}
            submit(*growing_study.documents(run_document, system, at))
            growing_study.plan(study, rounds=1 + at)
        guests = study.cells.filter(flags=None, system__hypervisor="Xen")
        for cell in guests.order_by("pk")[: 2 * systems]:
            flag = Flag.objects.create(
                study=study,
                lab=study.lab,
                rule="unit_slip",
                severity="implausible",
                message="It is so.",
                fingerprint=f"{cell.pk:064}",
            )
            flag.cells.add(cell)

    return to


@pytest.fixture
def failed_job(lab, study):
    return Job.objects.create(
        kind="check",
        subject_id=study.pk,
        partition=study.pk,
        lab=lab,
        study=study,
        failures=5,
        error="ValueError: no such cell",
        quarantined_at=timezone.now(),
    )
