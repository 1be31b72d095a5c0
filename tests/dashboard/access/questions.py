"""Questions to a page in a browser: its keys, its zoom, its letters, its targets."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.dashboard import browsing
from tests.dashboard.access import axe

NOTE = (Path(__file__).parent / "shifts.js").read_text()
MOST_MOVED = 0.1  # what browsers' makers call good
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
# Two widths: a table's head may stay in sight on one of them and roll on the other.
SIZES = [(1280, 800), (360, 740)]
# A page that tells a problem has moved the focus to it.
FROM_THE_TOP = """
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
# WCAG 1.4.12, in a sheet that the policy lets in: the page's own script makes it.
WIDE = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets.push(sheet);
}
"""
# Boxes that hide a part of their own text and cannot be scrolled.
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
# What has the focus: its name, whether it can be seen, whether anything lies over it.
# Scrolling there takes the browser a frame.
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
    """Open what is folded and wait until all of it is there."""
    page.evaluate(UNFOLD)
    page.wait_for_function(SETTLED)


def small_targets(page: Page) -> list[str]:
    """Return links and buttons that are too small for a finger or too close."""
    found = []
    for size in axe.SIZES:
        page.set_viewport_size(size)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        found += [f"{size['width']} px: {each}" for each in page.evaluate(SMALL)]
    return found


def stops(page: Page) -> list[dict[str, Any]]:
    """Press Tab until the page is left; return what had the focus on the way."""
    found = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            return found
        found.append(stop)
    raise AssertionError(f"no way out of the page after {found[-3:]}")


def moved(page: Page) -> list[str]:
    """Return what moved most, if a page noted (`NOTE`) that it has moved by much."""
    page.evaluate(TWO_FRAMES)
    found = sorted(page.evaluate("window.shifts"), key=lambda shift: -shift["value"])
    if sum(shift["value"] for shift in found) < MOST_MOVED:
        return []
    return [f"moves by {each['value']}: {each['moved']}" for each in found[:3]]


def lost_on_the_way(page: Page, width: int, height: int) -> list[str]:
    """Tab through a page of this size; return what is wrong on the way."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(FROM_THE_TOP)
    found = stops(page)
    first = found[0]["name"]
    return [
        *([] if first == "a Skip to content" else [f"the first stop is {first}"]),
        *(f"focus not seen: {each['name']}" for each in found if not each["isSeen"]),
        *(f"focus covered: {each['name']}" for each in found if not each["isFree"]),
    ]


def bent(page: Page) -> list[str]:
    """Zoom to 400 % and space the letters; return what is wrong then."""
    page.set_viewport_size(ZOOMED)
    found = [f"zoomed, too wide: {each}" for each in browsing.too_wide(page)]
    found += [f"moves: {each}" for each in page.evaluate(MOVING)]
    page.evaluate(WIDE)
    found += [f"spaced, cut: {each}" for each in page.evaluate(CUT)]
    found += [f"spaced, too wide: {each}" for each in browsing.too_wide(page)]
    page.evaluate("document.adoptedStyleSheets.pop()")
    return found


def accessible(page: Page) -> list[str]:
    """Ask axe, the policy and the width of a phone about the page as it is shown."""
    found = [*axe.complaints(page), *browsing.violations(page)]
    return found + [f"too wide: {each}" for each in browsing.too_wide(page)]
