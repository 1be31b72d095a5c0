"""Take a picture of every page of a running server into `var/screens/`.

    make run        # in one terminal
    make screens    # in another; URL=http://127.0.0.1:8000 VAR=var unless given

Pages of objects that the server does not have are left out. Pictures of documents go to
`docs/screens/`. Fails if a page violates the content security policy, logs an error or
is wider than its window.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext

from devtools.routes import BARE, DISKS, PAGES, PERSONAL, XEN
from running.browser import chromium
from running.processes import ROOT

LAB: Final = "first-lab"
EMULATED: Final = "/studies/alpha-lab/virtlab-2026-emulated/"
DOCUMENTS: Final = {
    "compare-light": f"{XEN}compare/?scenario=single",
    "compare-lab-light": f"{EMULATED}compare/",
}
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1440, "height": 1000}},
    "dark": {"viewport": {"width": 1440, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}},
}
# Where the ids of addresses are found, and as what.
IDS: Final = (
    ("cell", f"{XEN}compare/", r"/cells/(\d+)/"),
    ("native", f"{XEN}compare/", r"/cells/(\d+)/"),
    ("bimodal", f"{DISKS}compare/?component=disk", r"/cells/(\d+)/[^>]*><b>[^<]*\|"),
    ("one", f"{XEN}compare/", r"pin=(\d+)"),
    ("other", f"{XEN}compare/", r"pin=(?!{one}\b)(\d+)"),
    ("run", f"{XEN}runs/", r"/runs/(\d+)/"),
    ("plan", f"{EMULATED}plans/", r"/plans/(\d+)/"),
    ("tool", "/labs/alpha-lab/tools/", r"/tools/([\w-]+)/"),
    ("version", f"{DISKS}publish/", r"/versions/(\d+)/"),
)
WATCH: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
DRAWN: Final = "at => 'drawn' in document.querySelectorAll('[data-chart]')[at].dataset"


def main(url: str, var: Path) -> int:
    """Take all pictures; return 1 if a page has a problem."""
    folder = var / "screens"
    folder.mkdir(parents=True, exist_ok=True)
    account = var / "first-sign-in"
    if not account.exists():
        sys.exit(f"There is no {account}: say VAR= as `make run` was told it.")
    name, password = re.findall(r": (.+)", account.read_text())
    with chromium() as browser:
        complaints = [
            complaint
            for look in LOOKS
            for complaint in pictures(browser, look, url, folder, (name, password))
        ]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return min(len(complaints), 1)


def pictures(
    browser: Browser, look: str, url: str, folder: Path, account: tuple[str, str]
) -> Iterator[str]:
    """Take the pictures of one look and yield what is wrong with the pages."""
    visitor, member = (
        browser.new_context(base_url=url, locale="en-US", **LOOKS[look])
        for _ in range(2)
    )
    for context in (visitor, member):
        context.add_init_script(WATCH)
    page = member.new_page()
    page.goto("/login/")
    page.locator("#id_username").fill(account[0])
    page.locator("#id_password").fill(account[1])
    page.locator("main button").click()
    page.wait_for_url("**/")
    ids = found_ids(member)
    for name, addresses in PAGES.items():
        context = member if name in PERSONAL else visitor
        for number, address in enumerate(addresses):
            if address.startswith(BARE):
                continue  # a study of the tests
            try:
                place = in_lab(address).format_map(ids)
            except KeyError as missing:
                print(f"{address}: left out, there is no {missing}")
                continue
            file = f"{name}-{number}-{look}" if number else f"{name}-{look}"
            yield from take(context, place, folder / f"{file}.png", is_whole=True)
    if look == "light":
        for file, address in DOCUMENTS.items():
            path = ROOT / "docs" / "screens" / f"{file}.png"
            yield from take(visitor, in_lab(address), path, is_whole=False)
    visitor.close()
    member.close()


def in_lab(address: str) -> str:
    """Return an address of the tests' lab in that of `make run`."""
    return address.replace("alpha-lab", LAB)


def found_ids(context: BrowserContext) -> dict[str, str]:
    """Return an id for each word of the addresses that the server has one for."""
    ids: dict[str, str] = {}
    for name, address, pattern in IDS:
        text = context.request.get(in_lab(address)).text()
        if match := re.search(pattern.replace("{one}", ids.get("one", "")), text):
            ids[name] = match[1]
    return ids


def take(
    context: BrowserContext, address: str, path: Path, *, is_whole: bool
) -> Iterator[str]:
    """Take one picture when all charts are drawn; yield what is wrong."""
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    charts = page.locator("[data-chart]")
    # A chart is drawn when it comes into sight.
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
        page.wait_for_function(DRAWN, arg=place)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, full_page=is_whole)
    print(path.name)
    complaints = [*errors, *page.evaluate("window.violations")]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        complaints.append("wider than the window")
    page.close()
    yield from (f"{path.name}: {complaint}" for complaint in complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2])))
