"""How fluent the compare page is in a browser with 40 systems in 200 cases.

Times are the browser's own: the first contentful paint, and from a key or a click to
the next paint (Event Timing). Processor time of the page's thread stands beside them,
which other work on the machine hardly changes.
"""

from collections.abc import Iterator
from typing import Any, Final

from playwright.sync_api import Page

from bench import wide
from tests.dashboard.browsing import chromium
from tests.product.conftest import Product

COMPARE: Final = f"/campaigns/first-lab/{wide.CAMPAIGN}/compare/"
EMPTY_PAGE: Final = "/login/"
PAINT_MS: Final = 1000
INTERACTION_MS: Final = 100
SETTLED_MS: Final = 800
WATCH: Final = """
window.taken = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.taken.push(each.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def bench_fluency(product: Product) -> Iterator[tuple[str, ...]]:
    """Yield a row for the first paint and for each kind of interaction."""
    wide.upload(product.client())
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_init_script(WATCH)
        page = context.new_page()
        empty_ms = _paint_ms(page, product.url + EMPTY_PAGE)
        paint_ms = _paint_ms(page, product.url + COMPARE)
        yield _row("first paint", paint_ms, PAINT_MS, f"empty page {empty_ms:.0f} ms")
        clock = Clock(page)
        for name, deed in DEEDS.items():
            deed(page)
            worst_ms, cpu_ms = clock.since()
            yield _row(name, worst_ms, INTERACTION_MS, f"CPU {cpu_ms:.0f} ms")


def _row(what: str, taken_ms: float, wanted_ms: float, said: str) -> tuple[str, ...]:
    share = f"{taken_ms / wanted_ms:.2f} of {wanted_ms} ms"
    return f"compare, 40 x 200: {what}", f"{taken_ms:.0f} ms", said, share


def _paint_ms(page: Page, address: str) -> float:
    """Return when something was seen first, the second time an address is opened."""
    for _ in range(2):
        page.goto(address)
        page.wait_for_timeout(SETTLED_MS)
    return float(page.evaluate(PAINTED))


class Clock:
    """What interactions took since it was last asked."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.since()

    def since(self) -> tuple[float, float]:
        """Return the longest wait for a paint, and the processor time in all."""
        self.page.wait_for_timeout(SETTLED_MS)
        taken = self.page.evaluate("window.taken.splice(0)")
        spent_ms = self._spent_ms()
        before, self.spent_ms = getattr(self, "spent_ms", spent_ms), spent_ms
        return max(taken, default=0.0), spent_ms - before

    def _spent_ms(self) -> float:
        found: dict[str, Any] = self.session.send("Performance.getMetrics")
        metrics = {each["name"]: each["value"] for each in found["metrics"]}
        return float(metrics["TaskDuration"]) * 1000


def _type(page: Page) -> None:
    page.locator("[data-search]").click()
    page.keyboard.type("copy 12", delay=60)


def _clear(page: Page) -> None:
    for _ in range(7):
        page.keyboard.press("Backspace", delay=60)


def _move(page: Page) -> None:
    page.locator("td.cell a").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "End", "Home"):
        page.keyboard.press(key)
        page.wait_for_timeout(60)


def _point(page: Page) -> None:
    for at in (2, 3, 44):
        page.locator("td.cell a").nth(at).hover()
        page.wait_for_timeout(300)


def _switch(page: Page) -> None:
    with page.expect_response(lambda answer: "show=overhead" in answer.url):
        page.locator("select[name=show]").select_option("overhead")


DEEDS: Final = {
    "typing into the search": _type,
    "clearing it": _clear,
    "moving by keyboard": _move,
    "pointing at cells": _point,
    "showing the overhead": _switch,
}
