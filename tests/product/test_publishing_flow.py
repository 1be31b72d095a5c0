"""From an empty installation to a study that another lab signed, in a browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from running import headless_browser
from tests.dashboard import browser_site
from tests.product.test_lifecycle import settle

pytestmark = [pytest.mark.product, pytest.mark.browser, pytest.mark.timeout(600)]

DATA = Path(__file__).parents[1] / "data"
PRINTED = (DATA / "hackbench" / "process.txt").read_text()
LSCPU = """Architecture:            x86_64
CPU(s):                  8
Model name:              Intel(R) Xeon(R) CPU E3-1230 v3 @ 3.30GHz
Thread(s) per core:      2
Core(s) per socket:      4
Socket(s):               1
"""
PASSWORD = "sesame-open-now"
# Names of labs, and their slugs.
MEASURING = {"name": "Measuring lab", "slug": "measuring-lab"}
REVIEWING = {"name": "Reviewing lab", "slug": "reviewing-lab"}
BOB = "bob"
CHECKED_S = 60


@pytest.fixture(scope="module")
def chromium():
    with headless_browser.shared_chromium() as started:
        yield started


@pytest.fixture
def windows(chromium, product):
    """Two browser windows: the installing admin, and an anonymous visitor."""
    with (
        browser_site.window(chromium, product.url) as one,
        browser_site.window(chromium, product.url) as other,
    ):
        yield one, other


def sign_in(visit, product) -> Page:
    text = (product.var / "first-sign-in").read_text()
    name, password = re.findall(r"^\w+: (\S+)$", text, re.MULTILINE)[:2]
    page = visit.open("/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    return page


def make_lab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Labs").click()
    page.get_by_role("link", name="New lab").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create lab").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def upload(page: Page, files: list[dict], hypervisor: str) -> None:
    page.get_by_text("Add a system…").click()
    page.get_by_label("Hypervisor", exact=True).fill(hypervisor)
    page.get_by_role("button", name="Add system").click()
    expect(page.locator("#target-system option:checked")).to_contain_text(hypervisor)
    page.locator("#upload-file").set_input_files(files)
    expect(page.locator("[data-status]")).to_contain_text(f"{len(files)} recognized")
    page.get_by_role("button", name="Upload", exact=True).click()
    stored = page.locator("[data-stored-status]")
    expect(stored).to_contain_text(f"Stored {len(files)} of {len(files)}")


def printed(times: list[float]) -> list[dict]:
    """Return output files of hackbench, one per time."""
    texts = [re.sub(r"(?<=Time: )[\d.]+", f"{time:.3f}", PRINTED) for time in times]
    return [
        {"name": f"{at}.txt", "mimeType": "text/plain", "buffer": text.encode()}
        for at, text in enumerate(texts)
    ]


def invite(page: Page, name: str) -> str:
    """Make somebody an admin; return the invitation link."""
    page.get_by_label("Name or email address").fill(name)
    page.locator("select#id_role").select_option("admin")
    page.get_by_role("button", name="Invite").click()
    return page.locator("#invitation-link").inner_text().strip()


def join(visit, link: str, product) -> Page:
    page = visit.open(link.removeprefix(product.url))
    page.get_by_label("Name", exact=True).fill(BOB)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Repeat password").fill(PASSWORD)
    page.get_by_role("button", name="Create account and join").click()
    return page


def make_study(page: Page, product, title: str, *, shared_with: str) -> None:
    page.goto(f"{product.url}/labs/{MEASURING['slug']}/")
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Title").fill(title)
    page.get_by_label("My lab and selected labs").check()
    page.get_by_label(shared_with).check()
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def register_host(page: Page, product) -> None:
    page.goto(f"{product.url}/labs/{MEASURING['slug']}/")
    page.get_by_role("link", name="New host").click()
    page.get_by_label("Output of system commands").fill(LSCPU)
    page.get_by_role("button", name="Read facts").click()
    expect(page.locator("#id_title")).to_have_value(re.compile("E3-1230"))
    page.get_by_role("button", name="Register host").click()


def publish(page: Page, study: str) -> None:
    # Stored runs are checked one second after the last upload.
    for _ in range(CHECKED_S):
        page.goto(f"{study}publish/")
        if not page.locator("#problem").count():
            break
        page.wait_for_timeout(1000)
    page.get_by_label("No, none of them").check()
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url(re.compile(r"/versions/\d+/$"))


def sign(page: Page, product, title: str, note: str) -> None:
    page.goto(product.url)
    page.get_by_role("link", name=title, exact=True).click()
    page.locator('a[href*="/versions/"]').first.click()
    page.get_by_label("On behalf of").select_option(REVIEWING["slug"])
    page.get_by_label(re.compile("Your review or replication")).fill(note)
    page.get_by_role("button", name="Sign this version").click()


def test_one_lab_signs_the_study_of_another(windows, product):
    (mine, theirs), title = windows, "KVM against native"
    page = sign_in(mine, product)
    make_lab(page, MEASURING["name"])
    make_lab(page, REVIEWING["name"])
    bob = join(theirs, invite(page, "Bob"), product)
    make_study(page, product, title, shared_with=REVIEWING["name"])
    register_host(page, product)
    page.get_by_role("link", name="Upload results").click()
    upload(page, printed([10.0, 10.1, 9.9, 10.05, 9.95]), "native")
    page.reload()
    upload(page, printed([12.0, 12.1, 11.9, 12.05, 11.95]), "KVM")
    client = product.client("read-token")
    settle(client)
    publish(page, f"{product.url}/studies/{MEASURING['slug']}/kvm-against-native/")
    # Members of the publishing lab cannot sign for another lab.
    expect(page.get_by_role("button", name="Sign this version")).to_have_count(0)

    sign(bob, product, title, "Ran the first file again.")

    expect(bob.get_by_role("blockquote")).to_contain_text(REVIEWING["name"])
    page.reload()
    expect(page.get_by_role("blockquote")).to_contain_text("Ran the first file again.")
    assert mine.errors == theirs.errors == []
