"""Renew the screenshots of this folder from a running server.

    make run                                            # in one terminal
    .venv/bin/python docs/screens/renew.py [URL]        # in another

URL is http://127.0.0.1:8000/ unless given; the reference campaigns must be there.
Ends with an error if a page breaks the content security policy, logs an error, or is
wider than a phone.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from config.browser import find

HERE = Path(__file__).parent
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CAMPAIGN = "campaigns/first-lab/lmu-2010-xen/"
PAGES = {
    "overview": "",
    "campaign": CAMPAIGN,
    "compare": f"{CAMPAIGN}compare/?scenario=single",
    "compare-relative": "campaigns/first-lab/uoc-2012-kvm/compare/",
    "compare-empty": f"{CAMPAIGN}compare/?component=power",
    "runs": f"{CAMPAIGN}runs/",
    "sign-in": "login/",
    "not-found": "nowhere/",
}
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass(frozen=True)
class Look:
    """A window in which every page is shown."""

    name: str
    width: int
    height: int
    theme: str
    pages: frozenset[str] = frozenset()
    """Only these, where not all are worth a picture."""


LOOKS = (
    Look("light", 1440, 1000, "light"),
    Look("dark", 1440, 1000, "dark"),
    Look("phone", 360, 740, "light"),
    Look("wall", 3840, 2160, "light", frozenset({"overview", "compare"})),
)


def main(url: str) -> int:
    """Take every picture; return how many pages had something to complain about."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find()), args=ARGUMENTS
        )
        complaints = [each for look in LOOKS for each in pictures(browser, look, url)]
        browser.close()
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return min(len(complaints), 1)


def pictures(browser: Browser, look: Look, url: str) -> Iterator[str]:
    """Take the pictures of one look and return what is wrong with the pages."""
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme="dark" if look.theme == "dark" else "light",
    )
    context.add_init_script(WATCH)
    pages = {**PAGES, **evidence(context.new_page(), url)}
    for name in look.pages or pages:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error, found=errors: found.append(str(error)))
        page.goto(url + pages[name])
        yield from take(page, HERE / f"{name}-{look.name}.png", errors)
        page.close()
    context.close()


def evidence(page: Page, url: str) -> dict[str, str]:
    """Return the addresses that hold ids: a cell's evidence and one of its runs."""
    page.goto(f"{url}{PAGES['compare']}&component=network")
    page.locator(".cell[class*=heat-slow] a").first.click()
    cell = page.url.removeprefix(url)
    page.locator("tbody th a").first.click()
    return {"cell": cell, "run": page.url.removeprefix(url)}


def take(page: Page, path: Path, errors: list[str]) -> Iterator[str]:
    """Take one picture, and one of the chart if the page has one."""
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
    if page.locator("[data-chart]").count():
        page.locator("[data-chart]").scroll_into_view_if_needed()
        page.wait_for_selector("[data-drawn]")
        chart = path.with_name(path.name.replace("compare", "chart"))
        page.locator("[data-chart]").screenshot(path=chart)
    print(path.name)
    found = [*errors, *page.evaluate("window.violations")]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("wider than the window")
    yield from (f"{path.name}: {each}" for each in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/"))
