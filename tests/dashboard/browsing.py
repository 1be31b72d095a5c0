"""A real browser on a live server that holds one reference study."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    expect,
)

# Plotly alone keeps a window busy for seconds on a machine that has more to do.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

# Before anything of the page runs: note what breaks the policy, and every dialog a
# script that came in through a name would open.
WATCH = """
window.violations = [];
window.intrusions = [];
for (const name of ["alert", "confirm", "prompt"]) {
  window[name] = (text) => window.intrusions.push(`${name} ${text}`);
}
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Visit:
    """One window, and what went wrong in it."""

    context: BrowserContext
    url: str
    errors: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """Open an address of the site and wait until its scripts have run."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        page.goto(self.url + address)
        return page

    def _note(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)


@contextmanager
def window(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """Open a window of a size, a colour scheme, with or without scripts."""
    settings = {"viewport": {"width": 1440, "height": 900}, **options}
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(WATCH)
    try:
        yield Visit(context, url)
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """Return what broke the content security policy."""
    found: list[str] = page.evaluate("window.violations")
    return found


# The innermost elements that reach beyond the window and that no region scrolls.
TOO_WIDE = """
() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const isInRegion = ({ parentElement: around }) => around !== document.documentElement
    && (getComputedStyle(around).overflowX !== "visible" || isInRegion(around));
  const beyond = [...document.body.querySelectorAll("*")].filter((node) =>
    node.getBoundingClientRect().right > clientWidth && !isInRegion(node));
  const last = beyond.filter((node) => !beyond.some((other) =>
    other !== node && node.contains(other)));
  return [`${scrollWidth} px`, ...last.map((node) => node.outerHTML.slice(0, 120))];
}
"""


def too_wide(page: Page) -> list[str]:
    """Return how wide a page that scrolls sideways is, and what makes it so."""
    found: list[str] = page.evaluate(TOO_WIDE)
    return found


# Texts wider than the box that they stand in, so that they run into what is beside it.
SPILLED = """
() => [...document.body.querySelectorAll("*")].filter((node) => {
  const { display, overflowX } = getComputedStyle(node);
  if (overflowX !== "visible" || /^(inline|contents)/.test(display)) return false;
  if (node.closest("svg, select, .js-plotly-plot")) return false;
  if (!node.checkVisibility()) return false;
  for (let at = node; at; at = at.parentElement)
    if (getComputedStyle(at).clipPath !== "none") return false;
  const isText = ({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim();
  return [...node.childNodes].some(isText) && node.scrollWidth > node.clientWidth + 1;
}).map((node) => node.outerHTML.slice(0, 120))
"""


def spilled(page: Page) -> list[str]:
    """Return the boxes whose text reaches beyond them."""
    found: list[str] = page.evaluate(SPILLED)
    return found


def drawn_in(element: Locator) -> set[str]:
    """Return the families of the very glyphs that the browser drew for an element."""
    session = element.page.context.new_cdp_session(element.page)
    element.evaluate("node => { window.lettered = node; }")
    session.send("DOM.enable")
    session.send("CSS.enable")
    session.send("DOM.getDocument")
    found = session.send("Runtime.evaluate", {"expression": "window.lettered"})
    identity = {"objectId": found["result"]["objectId"]}
    node = session.send("DOM.requestNode", identity)
    fonts = session.send("CSS.getPlatformFontsForNode", node)["fonts"]
    session.detach()
    return {str(font["familyName"]) for font in fonts}


def draw_chart(page: Page) -> None:
    """Scroll to the chart and wait until it is drawn."""
    page.locator("[data-chart]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-drawn]")


def query(page: Page) -> dict[str, str]:
    """Return what stands in the address."""
    text = "Object.fromEntries(new URLSearchParams(location.search))"
    found: dict[str, str] = page.evaluate(text)
    return found
