"""Browser on a live server with one reference study."""

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

# Plotly takes seconds on a busy machine.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

# Runs before the page: records violations of the policy, and dialogs, which an injected
# script would open.
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
    """Window with the errors that occurred in it."""

    context: BrowserContext
    url: str
    errors: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """Open a URL of the site and wait for its scripts."""
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
    """Open a window with a size, a color scheme, with or without JavaScript."""
    settings = {"viewport": {"width": 1440, "height": 900}, **options}
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(WATCH)
    try:
        yield Visit(context, url)
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """Return violations of the content security policy."""
    found: list[str] = page.evaluate("window.violations")
    return found


# The innermost elements beyond the window that no region scrolls.
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
    """Return the width of a page that scrolls horizontally, and what causes it."""
    found: list[str] = page.evaluate(TOO_WIDE)
    return found


# Texts wider than their box, which overlap their neighbors.
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
    """Return the boxes with overflowing text."""
    found: list[str] = page.evaluate(SPILLED)
    return found


def drawn_in(element: Locator) -> set[str]:
    """Return the font families of the glyphs that the browser drew for an element."""
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
    page.wait_for_selector("[data-rendered]")


def query(page: Page) -> dict[str, str]:
    """Return the query of the current URL."""
    text = "Object.fromEntries(new URLSearchParams(location.search))"
    found: dict[str, str] = page.evaluate(text)
    return found
