"""axe-core in a page: its violations, one line per element."""

from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

ASK = (Path(__file__).parent / "axe.js").read_text()
TAGS = [
    *("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"),
    "best-practice",
]
SIZES = ({"width": 1440, "height": 900}, {"width": 360, "height": 740})
THEMES = ("light", "dark")


def violations(page: Page) -> list[str]:
    """Return the violations on a desktop and a phone, in both themes.

    Themes change only colors: all other rules run once per size.
    """
    page.evaluate(AXE_SCRIPT)
    found = []
    for size in SIZES:
        page.set_viewport_size(size)
        for theme, tags in zip(THEMES, (TAGS, []), strict=True):
            page.emulate_media(color_scheme=theme)
            look = f"{size['width']} px, {theme}"
            found += [f"{look}: {each}" for each in page.evaluate(ASK, tags)]
    return found
