"""Accessibility checks in a browser: keyboard, zoom, text spacing, target sizes."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.dashboard import browser_site
from tests.dashboard.access import axe

NOTE = (Path(__file__).parent / "shifts.js").read_text()
MAX_LAYOUT_SHIFT = 0.1  # a good value according to browser vendors
TWO_FRAMES = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
"""
SMALL = (Path(__file__).parent / "targets.js").read_text()
UNFOLD = """
async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const chart of document.querySelectorAll("[data-chart]:not([hidden])")) {
    chart.scrollIntoView();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
}
"""
SETTLED = """
() => !document.querySelector(".htmx-request, [data-chart] [aria-busy]")
  && [...document.querySelectorAll("details.reading")]
    .every((each) => each.querySelector(".reading-pair"))
"""
# Two widths: the header of a table may be fixed on one and scroll on the other.
SIZES = [(1280, 800), (360, 740)]
# Pages with an error focus the error: move the focus back to the start of the page.
FOCUS_START = """
() => {
  scrollTo(0, 0);
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
}
"""
MOST_STOPS = 400
# 1280 x 1024 at 400 %.
ZOOMED = {"width": 320, "height": 256}
# WCAG 1.4.12. The content security policy allows style sheets created by scripts.
WIDE = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets.push(sheet);
}
"""
# Boxes that hide a part of their text and cannot be scrolled.
CUT = """
() => [...document.body.querySelectorAll("*")].filter((each) => {
  const { overflowX, overflowY, clipPath } = getComputedStyle(each);
  if (clipPath !== "none" || each.closest("svg, select, .js-plotly-plot")) return false;
  if (!each.checkVisibility() || !each.textContent.trim()) return false;
  return (overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1)
    || (overflowY === "hidden" && each.scrollHeight > each.clientHeight + 1);
}).map((each) => each.outerHTML.slice(0, 120))
"""
MOVING = """
() => [...document.body.querySelectorAll("*")].filter((each) => {
  const { transitionDuration, animationName } = getComputedStyle(each);
  return animationName !== "none" || parseFloat(transitionDuration) > 0;
}).map((each) => each.outerHTML.slice(0, 120))
"""
# The focused element: name, visibility, and whether it is covered. Scrolling to the
# element takes a frame.
FOCUSED = """
async () => {
  await new Promise((done) => requestAnimationFrame(done));
  const found = document.activeElement;
  if (!found || found === document.body) return null;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(found);
  const boxes = [...found.getClientRects()].filter((box) => box.width * box.height);
  const isIn = ([x, y]) => {
    const top = document.elementFromPoint(x, y);
    return Boolean(top && (found.contains(top) || top.contains(found)));
  };
  const points = boxes.flatMap(({ left, top, right, bottom }) => [
    [(left + right) / 2, (top + bottom) / 2],
    [left + 2, top + 2], [right - 2, bottom - 2],
  ]);
  const name = found.ariaLabel || found.textContent || found.name || "";
  return {
    name: `${found.localName} ${name.trim().replace(/\\s+/g, " ").slice(0, 60)}`,
    isSeen: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2)
      || boxShadow !== "none" || found.id === "main",
    isFree: points.some(isIn),
  };
}
"""


def unfold(page: Page) -> None:
    """Open all folded parts and wait until they are loaded."""
    page.evaluate(UNFOLD)
    page.wait_for_function(SETTLED)


def small_targets(page: Page) -> list[str]:
    """Return links and buttons that are too small or too close for fingers."""
    found = []
    for size in axe.SIZES:
        page.set_viewport_size(size)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        found += [f"{size['width']} px: {each}" for each in page.evaluate(SMALL)]
    return found


def stops(page: Page) -> list[dict[str, Any]]:
    """Press Tab until the focus leaves the page; return the focused elements."""
    found = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            return found
        found.append(stop)
    raise AssertionError(f"no way out of the page after {found[-3:]}")


def layout_shifts(page: Page) -> list[str]:
    """Return the three largest layout shifts if their sum is too large.

    The page records its shifts if `NOTE` ran before it was opened.
    """
    page.evaluate(TWO_FRAMES)
    found = sorted(page.evaluate("window.shifts"), key=lambda shift: -shift["value"])
    if sum(shift["value"] for shift in found) < MAX_LAYOUT_SHIFT:
        return []
    return [f"moves by {each['value']}: {each['moved']}" for each in found[:3]]


def keyboard_problems(page: Page, width: int, height: int) -> list[str]:
    """Press Tab through a page of this size; return the problems."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(FOCUS_START)
    found = stops(page)
    first = found[0]["name"]
    return [
        *([] if first == "a Skip to content" else [f"the first stop is {first}"]),
        *(f"focus not seen: {each['name']}" for each in found if not each["isSeen"]),
        *(f"focus covered: {each['name']}" for each in found if not each["isFree"]),
    ]


def zoom_problems(page: Page) -> list[str]:
    """Zoom to 400 % and increase the text spacing; return the problems."""
    page.set_viewport_size(ZOOMED)
    found = [f"zoomed, too wide: {each}" for each in browser_site.too_wide(page)]
    found += [f"moves: {each}" for each in page.evaluate(MOVING)]
    page.evaluate(WIDE)
    found += [f"spaced, cut: {each}" for each in page.evaluate(CUT)]
    found += [f"spaced, too wide: {each}" for each in browser_site.too_wide(page)]
    page.evaluate("document.adoptedStyleSheets.pop()")
    return found


def visible_problems(page: Page) -> list[str]:
    """Check the page as shown: axe, content security policy and phone width."""
    found = [*axe.violations(page), *browser_site.violations(page)]
    return found + [f"too wide: {each}" for each in browser_site.too_wide(page)]
