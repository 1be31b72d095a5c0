"""The upload page in a real browser: previewing and storing dropped files."""

import io
import re
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from playwright.sync_api import expect

from benchmarks.models import Lab, Membership, Run, Study
from benchmarks.studies import checking, systems
from benchmarks.uploads import processing
from tests.dashboard import browser_site, served_studies

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[3] / "data"
HDPARM = DATA / "hdparm/direct-and-old.txt"
COMMA = DATA / "partdiff/german-comma.txt"
HOSTILE = "<img src=x onerror=alert(1)>.txt"

FOCUSED = "document.activeElement.id || document.activeElement.textContent.trim()"
# Files come from another window, so the event must carry them.
DROP = """
(zone, files) => {
  const dropped = new DataTransfer();
  for (const { name, bytes } of files) {
    dropped.items.add(new File([new Uint8Array(bytes)], name));
  }
  for (const type of ["dragover", "drop"]) {
    zone.dispatchEvent(new DragEvent(type, { dataTransfer: dropped, bubbles: true }));
  }
}
"""


@pytest.fixture
def site(transactional_db):
    """Serve a lab with one study, one host and one user."""
    connection.close()  # the server of another module may have closed it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="study", title="A study")
    systems.register_host(lab=lab, slug="alpha")
    native = {"host": "alpha", "hypervisor": "native", "guest_os": "Debian 12"}
    systems.register_system(lab=lab, description=native)
    carol = get_user_model().objects.create_user("carol", password="sesame-open")
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with served_studies.served() as address:
        yield address


def open_upload_page(visit):
    """Sign in and open the page."""
    page = visit.open("/login/?next=/upload/")
    sign_in(page)
    page.wait_for_url("**/upload/")
    return page


def sign_in(page):
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill("sesame-open")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Your account: carol").wait_for()


def test_files_chosen_before_scripts_load_are_previewed(site, chromium):
    held = []
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        page.route("**/file-picker*.js", lambda route: held.append(route))
        page.goto(f"{site}/upload/", wait_until="commit")
        page.locator("#upload-file").set_input_files(HDPARM)
        while not held:
            page.wait_for_timeout(20)
        held[0].continue_()

        expect(page.locator("[data-status]")).to_contain_text("1 recognized")


def drop(page, **files):
    found = [{"name": name, "bytes": list(data)} for name, data in files.items()]
    page.locator("[data-drop]").evaluate(DROP, found)


def room():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("iometer/2006-disk.txt", "netperf/fail.txt"):
            archive.write(DATA / name, name)
    return buffer.getvalue()


def entry(page, name):
    return page.locator("[data-file-entry]").filter(has_text=name)


def test_dropped_files_are_previewed_corrected_and_stored(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        files = {"disk.txt": HDPARM, "matrix.txt": COMMA, HOSTILE: COMMA}
        drop(page, **{n: f.read_bytes() for n, f in files.items()}, **{"r.zip": room()})
        expect(page.locator("[data-status]")).to_have_text(
            "Checked 5 of 5 files: 2 recognized."
        )

        disk, matrix = entry(page, "disk.txt").first, entry(page, "matrix.txt")
        expect(disk).to_contain_text("536.87\xa0MiB/s")
        expect(matrix).to_contain_text("has a decimal comma")
        expect(matrix.get_by_role("checkbox")).not_to_be_checked()
        matrix.get_by_label("Decimal separator").select_option("de_DE")
        expect(matrix).to_contain_text("199.412706\xa0s")
        expect(matrix.get_by_role("checkbox")).to_be_checked()
        disk.get_by_role("checkbox").uncheck()

        page.get_by_label("System", exact=True).select_option(index=1)
        page.get_by_role("button", name="Upload", exact=True).click()
        expect(page.locator("[data-stored-status]")).to_have_text(
            "Stored 2 of 2 files."
        )
        progress = page.locator("[data-processing-target]")
        expect(progress).to_contain_text("0 of 2 runs are processed and compared.")
        processing.process_due_uploads()
        expect(progress).to_contain_text("The comparison is being checked")
        checking.check_due_studies(timedelta(0))
        expect(progress).to_contain_text("all processed")

        stored = Run.objects.filter(upload_position=1)
        assert {run.note for run in stored} == {
            "matrix.txt",
            "r.zip/iometer/2006-disk.txt",
        }
        assert {run.status for run in Run.objects.all()} == {"parsed"}
        matrix.get_by_role("link", name=re.compile("run")).click()
        expect(page.locator("main")).to_contain_text("199.412706\xa0s")
        assert page.evaluate("window.intrusions") == []
        assert browser_site.violations(page) == []
        assert visit.errors == []


def test_lost_response_is_retried_without_duplicates(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        drop(page, **{"disk.txt": HDPARM.read_bytes()})
        expect(entry(page, "disk.txt")).to_be_visible()
        page.get_by_label("System", exact=True).select_option(index=1)
        button = page.get_by_role("button", name="Upload", exact=True)

        def lose(route):
            route.fetch()
            route.abort()

        page.route("**/upload/**", lose)
        button.click()
        expect(entry(page, "disk.txt")).to_contain_text("Could not reach the server.")
        page.unroute("**/upload/**")
        button.click()

        expect(entry(page, "disk.txt")).to_contain_text("Already uploaded run")
        assert Run.objects.count() == 1


def test_interrupted_preview_is_retried(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        page.route("**/upload/**", lambda route: route.abort())
        drop(page, **{"disk.txt": HDPARM.read_bytes()})
        waiting = page.locator("[data-pending]")
        expect(waiting).to_contain_text("not recognized")
        expect(waiting).to_contain_text("Could not reach the server.")
        said = page.locator("[data-status]")
        expect(said).to_have_text("Checked 1 of 1 files: 0 recognized.")

        page.unroute("**/upload/**")
        waiting.get_by_role("button", name="Try again").click()

        expect(entry(page, "disk.txt").get_by_role("checkbox")).to_be_checked()
        expect(said).to_have_text("Checked 1 of 1 files: 1 recognized.")


def test_upload_continues_after_new_sign_in(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        drop(page, **{"disk.txt": HDPARM.read_bytes()})
        expect(entry(page, "disk.txt")).to_be_visible()
        page.get_by_label("System", exact=True).select_option(index=1)
        visit.context.clear_cookies(name="sessionid")
        button = page.get_by_role("button", name="Upload", exact=True)
        button.click()
        expect(entry(page, "disk.txt")).to_contain_text("you are signed out")
        assert Run.objects.count() == 0

        with page.expect_popup() as opening:
            page.get_by_role("link", name="sign in in a new tab").click()
        sign_in(opening.value)
        opening.value.close()
        button.click()

        expect(entry(page, "disk.txt")).to_contain_text("Stored run")
        expect(page.locator("[data-signed-out]")).to_be_hidden()
        assert browser_site.violations(page) == []


def test_adding_system_keeps_files(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        drop(page, **{"disk.txt": HDPARM.read_bytes()})
        page.get_by_text("Add a system…").click()
        page.get_by_label("Hypervisor", exact=True).fill("KVM")
        page.get_by_role("button", name="Add system").click()

        chosen = page.get_by_label("System", exact=True).locator("option:checked")
        expect(chosen).to_have_text("KVM")
        expect(entry(page, "disk.txt")).to_be_visible()
        assert browser_site.violations(page) == []
        assert visit.errors == []


def test_page_fits_phone_and_works_by_keyboard(chromium, site):
    with browser_site.window(
        chromium, site, viewport={"width": 360, "height": 740}
    ) as v:
        page = open_upload_page(v)
        page.locator("#upload-file").set_input_files([HDPARM, COMMA])
        expect(page.locator("[data-status]")).to_contain_text("Checked 2 of 2")

        assert browser_site.too_wide(page) == []
        names = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            names.add(page.evaluate(FOCUSED))
        assert {"upload-file", "upload-tool", "target-study", "Upload"} <= names


def test_works_without_scripts(chromium, site):
    with browser_site.window(chromium, site, java_script_enabled=False) as visit:
        page = open_upload_page(visit)
        page.locator("#upload-file").set_input_files([HDPARM, COMMA])
        page.get_by_label("Decimal separator").select_option("de_DE")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator("main")).to_contain_text("Nothing is stored yet.")
        expect(page.locator("main")).to_contain_text("199.412706\xa0s")

        page.locator("#upload-file").set_input_files([HDPARM, COMMA])
        page.get_by_label("System", exact=True).select_option(index=1)
        page.get_by_role("button", name="Upload", exact=True).click()

        expect(page.get_by_role("link", name=re.compile(r"^run \d"))).to_have_count(2)
        assert Run.objects.count() == 2


def test_parameters_are_shown_below_metric(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = open_upload_page(visit)
        page.locator("#upload-file").set_input_files(DATA / "hpcc/appended-1.4.txt")
        row = page.locator(".upload-samples tbody tr").first

        name, more = row.locator(".benchmark-name"), row.locator(".benchmark-detail")
        expect(more).to_have_text(re.compile("size"))
        places = name.bounding_box(), more.bounding_box()

    assert places[0]["y"] + places[0]["height"] <= places[1]["y"] + 1
