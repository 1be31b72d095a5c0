"""Renew the screenshots of this folder from a running server.

    make run                                            # in one terminal
    .venv/bin/python docs/screens/renew.py [URL [VAR]]  # in another

URL is http://127.0.0.1:8000/ unless given; the reference studies must be there. VAR
is the folder of that server (var), for its first-sign-in. A plan and a version are
made there, once.
Ends with an error if a page breaks the content security policy, logs an error, or is
wider than a phone.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from running.browser import find

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OUTPUTS = ("hpcc/appended-1.4.txt", "hdparm/tT-in-tcg-guest.txt", "iperf3/tcp-text.txt")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
STUDY = "studies/first-lab/lmu-2010-xen/"
ESXI = "studies/first-lab/lmu-2010-esxi/"
LAB = "studies/first-lab/virtlab-2026-emulated/"
BIMODAL = "studies/first-lab/inqbus-2008-io/"
PAGES = {
    "overview": "",
    "study": STUDY,
    "compare": f"{STUDY}compare/?scenario=single",
    "compare-relative": "studies/first-lab/uoc-2012-kvm/compare/",
    "compare-empty": f"{STUDY}compare/?component=power",
    "factor-effects": f"{ESXI}factor-effects/?component=network",
    "coruns": f"{STUDY}co-runs/?component=disk",
    "energy": "studies/first-lab/uoc-2012-kvm/energy/",
    "compare-energy": "studies/first-lab/uoc-2012-kvm/compare/?show=energy",
    "compare-no-power": f"{STUDY}compare/?show=energy",
    "network": "studies/first-lab/heidelberg-2007-xen/network/",
    "sweep": "studies/first-lab/uoc-2012-kvm/sweep/",
    "trend": f"{LAB}trend/",
    "trend-empty": f"{BIMODAL}trend/",
    "report": f"{STUDY}report/",
    "coruns-lab": f"{LAB}co-runs/",
    "flags": "studies/first-lab/lmu-2010-esxi/flags/",
    "runs": f"{STUDY}runs/",
    "tour": f"{STUDY}compare/?component=memory&scenario=single&tour=1",
    "glossary": "glossary/",
    "labs": "labs/",
    "compare-lab": f"{LAB}compare/",
    "sign-in": "login/",
    "not-found": "nowhere/",
}
# Seen by who has signed in.
OWN_PAGES = {
    "new-plan": f"{STUDY}plans/new/",
    "publish": f"{STUDY}publish/",
    "lab": "labs/first-lab/",
    "members": "labs/first-lab/members/",
    "tokens": "labs/first-lab/tokens/",
    "audit-log": "labs/first-lab/audit-log/",
    "account": "account/",
}
PINNED = (0, 5)
PLAN = ".plan-card a"
VERSION = "a[href^='/versions/']"
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
DRAWN = "at => 'drawn' in document.querySelectorAll('[data-chart]')[at].dataset"


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


def main(url: str, var: Path) -> int:
    """Take every picture; return how many pages had something to complain about."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find()), args=ARGUMENTS
        )
        complaints = [
            each for look in LOOKS for each in pictures(browser, look, url, var)
        ]
        browser.close()
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return min(len(complaints), 1)


def pictures(browser: Browser, look: Look, url: str, var: Path) -> Iterator[str]:
    """Take the pictures of one look and return what is wrong with the pages."""
    context = browser.new_context(
        locale="en-US",
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
    if not look.pages:
        page = context.new_page()
        read_outputs(page, url, (var / "first-sign-in").read_text())
        yield from take(page, HERE / f"upload-{look.name}.png", [])
        for name, address in {**OWN_PAGES, **made(page, url)}.items():
            page.goto(url + address)
            yield from take(page, HERE / f"{name}-{look.name}.png", [])
    context.close()


def read_outputs(page: Page, url: str, secrets: str) -> None:
    """Sign in and let the upload page read some outputs; nothing is stored."""
    name, password = re.findall(r": (.+)", secrets)
    page.goto(f"{url}login/?next=/upload/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    files = [ROOT / "tests/data" / output for output in OUTPUTS]
    page.locator("#upload-file").set_input_files(files)
    page.get_by_text(f"Looked at {len(files)} of {len(files)} files:").wait_for()


def made(page: Page, url: str) -> dict[str, str]:
    """Return the addresses of a plan and of a version, made where there is none."""
    page.goto(f"{url}{LAB}plans/")
    if not page.locator(PLAN).count():
        make_plan(page, url)
    plan = page.locator(PLAN).first.get_attribute("href") or ""
    page.goto(f"{url}{BIMODAL}publish/")
    if not page.locator(VERSION).count():
        page.get_by_role("radio", name="No, none of them").check()
        page.get_by_role("button", name="Freeze it").click()
        page.wait_for_url("**/versions/*/")
        page.goto(f"{url}{BIMODAL}publish/")
    version = page.locator(VERSION).first.get_attribute("href") or ""
    plans = {"plans": f"{LAB}plans/", "plan": plan.lstrip("/")}
    others = {"version": version.lstrip("/"), "report-making": reported(page, url)}
    return {**plans, **others}


def reported(page: Page, url: str) -> str:
    """Return the address of a report that is made: the first that this person sees."""
    page.request.get(f"{url}{BIMODAL}report.pdf")
    places = (f"reports/{number}/" for number in range(1, 1_000))
    return next(each for each in places if page.request.get(url + each).ok)


def make_plan(page: Page, url: str) -> None:
    """Plan what the lab measures, and show the list of plans."""
    page.goto(f"{url}{LAB}plans/new/")
    page.get_by_label("Title").fill("KVM beside native, three times")
    for name in ("native", "KVM"):
        page.get_by_role("checkbox", name=name).first.check()
    page.get_by_role("checkbox", name="hackbench").check()
    page.get_by_role("button", name="Make this plan").click()
    page.wait_for_url("**/plans/*/")
    page.goto(f"{url}{LAB}plans/")


def evidence(page: Page, url: str) -> dict[str, str]:
    """Return the addresses that hold ids: cells, a run, and two pinned systems."""
    page.goto(f"{url}{BIMODAL}compare/?component=disk")
    page.locator(".cell a", has_text="|").first.click()
    speeds = page.url.removeprefix(url)
    page.goto(f"{url}{PAGES['compare']}&component=network")
    page.locator(".cell[class*=heat-slow] a").first.click()
    cell = page.url.removeprefix(url)
    page.locator("tbody th a").first.click()
    run = page.url.removeprefix(url)
    page.goto(f"{url}{PAGES['compare']}")
    for column in PINNED:
        with page.expect_navigation():
            page.get_by_role("link", name="Compare directly").nth(column).click()
    direct = page.url.removeprefix(url)
    return {"cell": cell, "cell-speeds": speeds, "run": run, "direct": direct}


def take(page: Page, path: Path, errors: list[str]) -> Iterator[str]:
    """Take one picture, and one of the chart if the page compares."""
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
    charts = page.locator("[data-chart]")
    for at in range(charts.count()):
        charts.nth(at).scroll_into_view_if_needed()
        page.wait_for_function(DRAWN, arg=at)
    if charts.count() == 1:
        name = path.name.replace("compare", "chart")
        own = f"{path.stem}-chart.png"  # the page keeps its picture
        charts.screenshot(path=path.with_name(own if name == path.name else name))
    elif page.locator(".plots").count():
        page.locator(".plots").screenshot(path=path.with_stem(f"{path.stem}-plots"))
    print(path.name)
    found = [*errors, *page.evaluate("window.violations")]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("wider than the window")
    yield from (f"{path.name}: {each}" for each in found)


if __name__ == "__main__":
    given = [*sys.argv[1:], "http://127.0.0.1:8000/"]
    sys.exit(
        main(
            f"{given[0].rstrip('/')}/",
            Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "var"),
        )
    )
