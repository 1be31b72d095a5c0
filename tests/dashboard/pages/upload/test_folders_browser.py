"""Folders of real outputs on the upload page: systems, times and comparison."""

import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from playwright.sync_api import expect

from benchmarks.models import Lab, Membership, Run, Study, System
from benchmarks.studies import checking, systems
from benchmarks.uploads import processing
from tests.dashboard import browser_site, served_studies

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[3] / "data"
LSCPU = """Architecture:        x86_64
CPU(s):              4
Hypervisor vendor:   KVM
Virtualization type: full
"""
BEGAN = datetime(2026, 11, 20, 20, tzinfo=UTC)
FILES = {
    "native": ("sysbench/cpu-1thread.txt", "fio/randread-4k-text.txt"),
    "kvm-8.2": (
        "sysbench/cpu-report-interval.txt",
        "sysbench/cpu-checkpoints.txt",
        "iozone/auto-a.txt",
    ),
}


@pytest.fixture
def site(transactional_db):
    """Serve a lab with one study, one host, no system and one user."""
    connection.close()  # the server of another module may have closed it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="study", title="A study")
    systems.register_host(lab=lab, slug="alpha")
    carol = get_user_model().objects.create_user("carol", password="sesame-open")
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with served_studies.served() as address:
        yield address


@pytest.fixture
def measured(tmp_path):
    """Create two folders of outputs, with file dates one minute apart."""
    for folder, names in FILES.items():
        (tmp_path / folder).mkdir()
        for minute, name in enumerate(names):
            file = tmp_path / folder / name.replace("/", "-")
            shutil.copyfile(DATA / name, file)
            at = (BEGAN + timedelta(minutes=minute)).timestamp()
            os.utime(file, (at, at))
    (tmp_path / "kvm-8.2/lscpu.txt").write_text(LSCPU)
    return tmp_path


def opened(visit):
    page = visit.open("/login/?next=/upload/")
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill("sesame-open")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/upload/")
    return page


def choose(page, *folders):
    for folder in folders:
        page.locator("#upload-folder").set_input_files(folder)
    expect(page.locator("[data-folder-name]")).to_have_count(len(folders))


def store(page):
    page.get_by_role("button", name="Upload", exact=True).click()


def asked(page, folder):
    return page.get_by_role("group", name=f"{folder}/")


def test_two_folders_become_two_compared_systems(chromium, site, measured):
    with browser_site.window(chromium, site, timezone_id="Europe/Berlin") as visit:
        page = opened(visit)
        choose(page, measured / "native", measured / "kvm-8.2")

        expect(page.locator("[data-status]")).to_contain_text("Checked 6 of 6 files")
        native, kvm = asked(page, "native"), asked(page, "kvm-8.2")
        expect(native.get_by_label("Hypervisor")).to_have_value("native")
        expect(native.get_by_label("vCPUs")).to_have_value("")
        assert [
            kvm.get_by_label(name, exact=True).input_value()
            for name in ("Hypervisor", "Version", "Type", "Bits", "vCPUs")
        ] == ["KVM", "8.2", "full", "64", "4"]
        expect(page.locator("#target-system")).to_be_hidden()
        # fio and iozone print local start times without a time zone.
        times = page.get_by_role("group", name="Start times")
        expect(times).to_contain_text(re.compile(r"^\D*2 of \d+ results include"))
        expect(times.get_by_label("Time zone")).to_have_value("Europe/Berlin")
        times.get_by_label(
            "Use the files' dates for results without a start time"
        ).check()
        assert browser_site.too_wide(page) == []

        store(page)
        expect(page.locator("[data-stored-status]")).to_have_text(
            "Stored 5 of 5 files."
        )
        processing.process_due_uploads()
        checking.check_due_studies(timedelta(0))
        standing = page.locator("[data-verdict-progress]")
        expect(standing).to_contain_text("Missing for a verdict")
        expect(standing).to_contain_text("3 more runs and 4 more native runs")
        expect(standing).to_contain_text("no native run of this test")

        starts = {
            run.note: run.started_at
            for run in Run.objects.filter(upload_position=1)
            if run.note
        }
        assert starts["native/sysbench-cpu-1thread.txt"] == BEGAN
        assert starts["kvm-8.2/sysbench-cpu-checkpoints.txt"] == BEGAN + timedelta(
            minutes=1
        )
        assert starts["kvm-8.2/iozone-auto-a.txt"] == datetime(
            2026, 11, 20, 21, 3, 35, tzinfo=UTC
        )
        assert {system.platform for system in System.objects.all()} == {
            "native",
            "KVM 8.2 full",
        }

        page.get_by_role("link", name="View comparison").click()
        expect(page.locator("main table").first).to_contain_text("KVM 8.2")
        assert browser_site.violations(page) == []
        assert visit.errors == []


@pytest.fixture
def repeated(tmp_path):
    """Create two folders of 45 outputs of one benchmark."""
    output = (DATA / "sysbench/cpu-1thread.txt").read_text()
    for folder, count, base in (("native", 23, 4811.33), ("kvm-8.2", 22, 4700.01)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            value = f"{base + number / 10:.2f}"
            file = tmp_path / folder / f"cpu-{number:02}.txt"
            file.write_text(output.replace("4811.33", value))
    (tmp_path / "kvm-8.2/lscpu.txt").write_text(LSCPU)
    return tmp_path


def test_student_gets_from_45_files_to_table_and_figure_in_four_steps(
    chromium, site, repeated
):
    with browser_site.window(chromium, site) as visit:
        page = opened(visit)
        choose(page, repeated / "native", repeated / "kvm-8.2")
        status = page.locator("[data-status]")
        expect(status).to_contain_text("Checked 46 of 46 files")
        store(page)
        stored = page.locator("[data-stored-status]")
        expect(stored).to_have_text("Stored 45 of 45 files.")
        processing.process_due_uploads()
        checking.check_due_studies(timedelta(0))
        page.get_by_role("link", name="View comparison").click()

        expect(page.locator("main table").first).to_contain_text("KVM 8.2")
        browser_site.draw_chart(page)
        assert visit.errors == []


def test_dates_of_copied_files_are_not_start_times(chromium, site, measured):
    for file in (measured / "kvm-8.2").iterdir():
        os.utime(file, (BEGAN.timestamp(), BEGAN.timestamp()))
    with browser_site.window(chromium, site) as visit:
        page = opened(visit)
        choose(page, measured / "native", measured / "kvm-8.2")

        times = page.get_by_role("group", name="Start times")
        expect(times).to_contain_text("show when they were copied")
        expect(times.get_by_role("checkbox")).to_be_disabled()
        store(page)
        expect(page.locator("[data-stored-status]")).to_have_text(
            "Stored 5 of 5 files."
        )

        processing.process_due_uploads()
        untold = Run.objects.filter(tool="sysbench").values_list("started_at")
        assert set(untold) == {(None,)}


def test_invalid_system_of_folder_is_reported(chromium, site, measured):
    with browser_site.window(chromium, site) as visit:
        page = opened(visit)
        choose(page, measured / "native", measured / "kvm-8.2")
        asked(page, "kvm-8.2").get_by_label("Hypervisor").fill("KVM\u202e")
        store(page)

        expect(asked(page, "kvm-8.2").get_by_role("alert")).to_contain_text(
            "Hypervisor"
        )
        assert Run.objects.count() == 0

        asked(page, "kvm-8.2").get_by_label("Hypervisor").fill("KVM")
        store(page)
        expect(page.locator("[data-stored-status]")).to_have_text(
            "Stored 5 of 5 files."
        )


def test_ignored_folder_needs_no_system(chromium, site, measured):
    (measured / "README.md").write_text("Measured on Monday.\n")
    (measured / "scripts").mkdir()
    (measured / "scripts/run.sh").write_text("#!/bin/sh\nfio job\n")
    with browser_site.window(chromium, site) as visit:
        page = opened(visit)
        page.locator("#upload-folder").set_input_files(measured)

        expect(page.locator("[data-status]")).to_contain_text("Checked 8 of 8 files")
        expect(page.locator("[data-folder-name]")).to_have_count(2)
        store(page)
        expect(page.locator("[data-stored-status]")).to_have_text(
            "Stored 5 of 5 files."
        )

        page.get_by_role("checkbox", name="run.sh").check()
        expect(asked(page, "scripts").get_by_label("Hypervisor")).to_have_value("")


def test_folders_fit_phone(chromium, site, measured):
    with browser_site.window(
        chromium, site, viewport={"width": 320, "height": 740}
    ) as v:
        page = opened(v)
        choose(page, measured / "native", measured / "kvm-8.2")

        assert browser_site.too_wide(page) == []
        assert browser_site.violations(page) == []
