"""How fluent the compare page is in a browser with 40 systems in 200 cases.

Times are the browser's own: the first contentful paint, and from a key or a click to
the next paint (Event Timing). While a table is exchanged, somebody goes on pressing a
key: what must be answered soon is not the choice alone. Processor time of the page's
thread and its longest task stand beside them; other work on the machine hardly changes
the first.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product as combined
from typing import Any, Final

from playwright.sync_api import Page

from agents.client import Client
from bench.pages import EMPTY_PAGE
from running.browser import chromium
from running.product import Product, wait_until_processed

STUDY: Final = "bench-wide"
HOST: Final = "bench-wide-host"
RUNS: Final = 3
# Four guests on each of ten platforms are the 40 systems.
GUESTS: Final = tuple(combined(("Debian 12", "Windows 2022"), (32, 64)))
PLATFORMS: Final[tuple[dict[str, Any], ...]] = (
    {"hypervisor": "native"},
    *(
        {"hypervisor": name, "virtualization": kind, "options": {"hw_virt": state}}
        for name, kinds in (("Xen", ("PV", "HVM")), ("KVM", ("full", "virtio")))
        for kind in kinds
        for state in ("on", "off")
    ),
    {"hypervisor": "ESXi", "virtualization": "full"},
)
OPERATIONS: Final = ("read", "write", "copy", "triad")
SIZES: Final = tuple(f"{size} KiB" for size in range(4, 204, 4))

COMPARE: Final = f"/studies/first-lab/{STUDY}/compare/"
PAINT_MS: Final = 1000
INTERACTION_MS: Final = 100
SETTLED_MS: Final = 800
KEYS_MS: Final = 60
WORDS: Final = "copy 12"
# 16 ms is the shortest event that browsers tell of.
WATCH: Final = """
window.taken = [];
window.tasks = [];
const watch = (type, durations) =>
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) durations.push(each.duration);
  }).observe({ type, durationThreshold: 16, buffered: true });
watch("event", window.taken);
watch("longtask", window.tasks);
const sinceAsked = () => performance.now() - window.asked;
addEventListener("change", () => {
  Object.assign(window, { asked: performance.now(), shown: 0, whole: 0 });
}, true);
document.addEventListener("htmx:afterSwap", () =>
  requestAnimationFrame(() => setTimeout(() => { window.shown = sinceAsked(); })));
document.addEventListener("rowscome", () => { window.whole = sinceAsked(); });
"""
PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def bench_fluency(product: Product) -> Iterator[tuple[str, ...]]:
    """Yield a row for the first paint and for each kind of interaction."""
    upload(product.client())
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_init_script(WATCH)
        page = context.new_page()
        empty_ms = _paint_ms(page, product.url + EMPTY_PAGE)
        paint_ms = _paint_ms(page, product.url + COMPARE)
        yield _row("first paint", paint_ms, PAINT_MS, f"empty page {empty_ms:.0f} ms")
        clock = Clock(page)
        for name, action in ACTIONS.items():
            remark = action(page)
            spent = clock.since()
            beside = ", ".join(filter(None, [remark, str(spent)]))
            yield _row(name, spent.longest_wait_ms, INTERACTION_MS, beside)
        with page.expect_navigation():  # by a click on a column's first tool
            page.locator("[data-keeps-place]").nth(8).click()
        follow_ms = float(page.wait_for_function(PAINTED).json_value())
        yield _row("using another reference", follow_ms, PAINT_MS, "a new page")


def upload(client: Client) -> None:
    """Fill the study: 40 systems, each in 200 cases, native partners among them."""
    client.create_study(
        {
            "slug": STUDY,
            "title": "40 systems, 200 cases",
            "visibility": "public",
        }
    )
    client.register_host({"slug": HOST})
    for _ in client.upload(_runs()):
        pass
    wait_until_processed(client)


def _runs() -> Iterator[dict[str, Any]]:
    for run, (number, (platform, (system, bits))) in combined(
        range(RUNS), enumerate(combined(PLATFORMS, GUESTS))
    ):
        yield {
            "key": str(uuid.uuid4()),
            "study": STUDY,
            "system": {
                "host": HOST,
                "guest_os": system,
                "guest_bits": bits,
                **platform,
            },
            "tool": "ramspeed",
            "samples": [
                {
                    "metric": "bandwidth",
                    "parameters": {"operation": operation, "block_size": size},
                    "value": 3000.0
                    + case
                    - 20 * number
                    + (7 * run + 3 * case + number) % 11 / 2,
                    "unit": "MB/s",
                }
                for case, (operation, size) in enumerate(combined(OPERATIONS, SIZES))
            ],
        }


def _row(what: str, taken_ms: float, wanted_ms: float, beside: str) -> tuple[str, ...]:
    share = f"{taken_ms / wanted_ms:.2f} of {wanted_ms} ms"
    return f"compare, 40 x 200: {what}", f"{taken_ms:.0f} ms", beside, share


def _paint_ms(page: Page, address: str) -> float:
    """Return when something was seen first, the second time an address is opened."""
    for _ in range(2):
        page.goto(address)
        page.wait_for_timeout(SETTLED_MS)
    return float(page.evaluate(PAINTED))


@dataclass(frozen=True)
class Spent:
    """What some interactions took: the longest wait, and the work for them all."""

    longest_wait_ms: float
    longest_task_ms: float
    cpu_ms: float

    def __str__(self) -> str:
        """Return the work; a task is long from 50 ms on."""
        task = f", longest task {self.longest_task_ms:.0f} ms"
        return f"CPU {self.cpu_ms:.0f} ms{task if self.longest_task_ms else ''}"


class Clock:
    """What interactions took since it was last asked."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.since()

    def since(self) -> Spent:
        """Return the longest wait for a paint, and the processor time in all."""
        self.page.wait_for_timeout(SETTLED_MS)
        taken = self.page.evaluate("window.taken.splice(0)")
        tasks = self.page.evaluate("window.tasks.splice(0)")
        spent_ms = self._spent_ms()
        before, self.spent_ms = getattr(self, "spent_ms", spent_ms), spent_ms
        return Spent(max(taken, default=0), max(tasks, default=0), spent_ms - before)

    def _spent_ms(self) -> float:
        answer: dict[str, Any] = self.session.send("Performance.getMetrics")
        metrics = {metric["name"]: metric["value"] for metric in answer["metrics"]}
        return float(metrics["TaskDuration"]) * 1000


def _type(page: Page) -> None:
    page.locator("[data-search]").click()
    page.keyboard.type(WORDS, delay=KEYS_MS)


def _clear(page: Page) -> None:
    for _ in WORDS:
        page.keyboard.press("Backspace", delay=KEYS_MS)


def _clear_at_once(page: Page) -> None:
    _type(page)
    for key in ("Control+a", "Delete"):
        page.keyboard.press(key)
        page.wait_for_timeout(SETTLED_MS)


def _move(page: Page) -> None:
    page.locator("td.cell a").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "End", "Home"):
        page.keyboard.press(key)
        page.wait_for_timeout(KEYS_MS)


def _move_far(page: Page) -> None:
    page.locator("td.cell a").first.focus()
    for key in ("Control+End", "Control+Home", "Control+End", "ArrowUp"):
        page.keyboard.press(key)
        page.wait_for_timeout(SETTLED_MS)


def _point(page: Page) -> None:
    for place in (2, 3, 44):
        page.locator("td.cell a").nth(place).hover()
        page.wait_for_timeout(300)


def _choose(page: Page, name: str) -> str:
    """Choose the next of a menu by keyboard, and go on pressing until all is there."""
    page.locator(f"select[name={name}]").focus()
    page.keyboard.press("ArrowDown")
    while not page.evaluate("window.whole"):
        page.keyboard.press("Shift")
        page.wait_for_timeout(20)
    shown, whole = page.evaluate("[window.shown, window.whole]")
    return f"seen after {shown:.0f} ms, whole after {whole:.0f} ms"


ACTIONS: Final[dict[str, Callable[[Page], str | None]]] = {
    "typing into the search": _type,
    "clearing it": _clear,
    "clearing it at once": _clear_at_once,
    "moving by keyboard": _move,
    "moving to the far ends": _move_far,
    "pointing at cells": _point,
    "showing the overhead": partial(_choose, name="show"),
    "ordering the columns": partial(_choose, name="order"),
}
