"""Take screenshots of every page of a running server in `var/screenshots/`.

    make run        # in one terminal
    make screenshots    # in another; defaults: URL=http://127.0.0.1:8000 VAR=var

Pages of objects that the server does not have are skipped. Screenshots for documents go
to `docs/screens/`. The command fails if a page violates the content security policy,
raises an error or is wider than its window.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext

from devtools.routes import BARE, DISKS, PAGES, PERSONAL, XEN
from running.headless_browser import shared_chromium
from running.processes import ROOT

LAB: Final = "first-lab"
EMULATED: Final = "/studies/alpha-lab/virtlab-2026-emulated/"
DOCUMENTS: Final = {
    "compare-light": f"{XEN}compare/?scenario=single",
    "compare-lab-light": f"{EMULATED}compare/",
}
VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1440, "height": 1000}},
    "dark": {"viewport": {"width": 1440, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}},
}
# Names of IDs in URLs, pages on which they can be found, and patterns that find them.
IDS: Final = (
    ("cell", f"{XEN}compare/", r"/cells/(\d+)/"),
    ("native", f"{XEN}compare/", r"/cells/(\d+)/"),
    ("bimodal", f"{DISKS}compare/?component=disk", r"/cells/(\d+)/[^>]*><b>[^<]*\|"),
    ("one", f"{XEN}compare/", r"pin=(\d+)"),
    ("other", f"{XEN}compare/", r"pin=(?!{one}\b)(\d+)"),
    ("run", f"{XEN}runs/", r"/runs/(\d+)/"),
    ("plan", f"{EMULATED}plans/", r"/plans/(\d+)/"),
    ("tool", "/labs/alpha-lab/custom-tools/", r"/custom-tools/([\w-]+)/"),
    ("version", f"{DISKS}publish/", r"/versions/(\d+)/"),
)
ERROR_SCRIPT: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
CHARTS_DRAWN: Final = (
    "at => 'drawn' in document.querySelectorAll('[data-chart]')[at].dataset"
)


def main(url: str, var: Path) -> int:
    folder = var / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    account = var / "first-sign-in"
    if not account.exists():
        sys.exit(f"{account} not found. Set the same VAR= as for `make run`.")
    name, password = re.findall(r": (.+)", account.read_text())
    with shared_chromium() as browser:
        problems = [
            problem
            for variant in VARIANTS
            for problem in take_screenshots(
                browser, variant, url, folder, (name, password)
            )
        ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return min(len(problems), 1)


def take_screenshots(
    browser: Browser, variant: str, url: str, folder: Path, account: tuple[str, str]
) -> Iterator[str]:
    """Take the screenshots of a variant; yield problems of the pages."""
    visitor, member = (
        browser.new_context(base_url=url, locale="en-US", **VARIANTS[variant])
        for _ in range(2)
    )
    for context in (visitor, member):
        context.add_init_script(ERROR_SCRIPT)
    page = member.new_page()
    page.goto("/login/")
    page.locator("#id_username").fill(account[0])
    page.locator("#id_password").fill(account[1])
    page.locator("main button").click()
    page.wait_for_url("**/")
    ids = find_ids(member)
    for name, urls in PAGES.items():
        context = member if name in PERSONAL else visitor
        for number, page_url in enumerate(urls):
            if page_url.startswith(BARE):
                continue  # exists only in tests
            try:
                path = in_run_lab(page_url).format_map(ids)
            except KeyError as missing:
                print(f"{page_url}: skipped, no {missing} found")
                continue
            file = f"{name}-{number}-{variant}" if number else f"{name}-{variant}"
            yield from take_screenshot(
                context, path, folder / f"{file}.png", full_page=True
            )
    if variant == "light":
        for file, page_url in DOCUMENTS.items():
            image = ROOT / "docs" / "screens" / f"{file}.png"
            yield from take_screenshot(
                visitor, in_run_lab(page_url), image, full_page=False
            )
    visitor.close()
    member.close()


def in_run_lab(url: str) -> str:
    return url.replace("alpha-lab", LAB)


def find_ids(context: BrowserContext) -> dict[str, str]:
    ids: dict[str, str] = {}
    for name, url, pattern in IDS:
        text = context.request.get(in_run_lab(url)).text()
        if match := re.search(pattern.replace("{one}", ids.get("one", "")), text):
            ids[name] = match[1]
    return ids


def take_screenshot(
    context: BrowserContext, url: str, path: Path, *, full_page: bool
) -> Iterator[str]:
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    charts = page.locator("[data-chart]")
    # Charts are drawn when they become visible.
    for index in range(charts.count()):
        charts.nth(index).scroll_into_view_if_needed()
        page.wait_for_function(CHARTS_DRAWN, arg=index)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, full_page=full_page)
    print(path.name)
    problems = [*errors, *page.evaluate("window.violations")]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        problems.append("wider than the window")
    page.close()
    yield from (f"{path.name}: {problem}" for problem in problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2])))
