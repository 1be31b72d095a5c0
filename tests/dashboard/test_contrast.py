"""Contrast of style sheet colors by WCAG 2.2 AA, light and dark."""

import re
from pathlib import Path

import pytest

from tests.for_each import for_each

DASHBOARD = Path(__file__).parents[2] / "dashboard"
SHEET = DASHBOARD / "kit/static/tokens.css"
TOKEN = re.compile(r"--([\w-]+): light-dark\(\s*(#\w{6})\s*,\s*(#\w{6})\s*\)")
TOKENS = {name: pair for name, *pair in TOKEN.findall(SHEET.read_text())}

TEXT = [
    *(
        (ink, ground)
        for ink in ("ink", "ink-2", "ink-3", "accent", "accent-hover")
        for ground in ("paper", "surface", "sunken")
    ),
    ("accent-ink", "accent"),
    ("accent-ink", "accent-hover"),
    ("accent", "accent-soft"),
    *((tone, f"{tone}-soft") for tone in ("good", "wait", "bad")),
    *(
        ("heat-ink", shade)
        for shade in (
            "even",
            *(f"{side}-{step}" for side in ("slow", "fast") for step in (1, 2, 3)),
        )
    ),
    *(
        ("heat-ink-strong", f"{side}-{step}")
        for side in ("slow", "fast")
        for step in (4, 5)
    ),
]
GRAPHICS = [
    *((f"series-{number}", "surface") for number in range(1, 8)),
    *((f"series-{number}", "sunken") for number in range(1, 8)),
    ("control", "surface"),
    ("control", "paper"),
    ("focus", "paper"),
    ("focus", "surface"),
    ("slow-5", "sunken"),
    ("fast-5", "sunken"),
]


def luminance(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@for_each(("ink", "ground"), TEXT)
def test_text_has_enough_contrast(ink, ground, theme):
    assert contrast(TOKENS[ink][theme], TOKENS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@for_each(("mark", "ground"), GRAPHICS)
def test_symbols_and_borders_have_enough_contrast(mark, ground, theme):
    assert contrast(TOKENS[mark][theme], TOKENS[ground][theme]) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("mark", ["slow-5", "fast-5", "ink-3"])
def test_transparent_lines_have_enough_contrast(mark, theme):
    opacity = float(re.findall(r"stroke-opacity: ([\d.]+)", rules("studies.css"))[0])
    line, ground = TOKENS[mark][theme], TOKENS["sunken"][theme]

    assert contrast(mixed(line, ground, opacity), ground) >= 3


def test_shades_keep_their_text_color():
    """Two shades have dark text in dark mode, which no other rule may replace."""
    for path in DASHBOARD.rglob("*.css"):
        for selector, body in re.findall(r"([^{}]*)\{([^{}]*)\}", path.read_text()):
            if 'class*="heat-"' in selector and ":not(" not in selector:
                assert not re.search(r"(?<![-\w])color:", body), (path.name, selector)


# Lines and boxes around content, not marks of data.
FRAMES = ("chart-grid", "starts-axis")


def test_text_and_marks_do_not_have_the_color_of_lines():
    mark = re.compile(r"(?<![-\w])(color|fill|stroke): var\(--line(-strong)?\)")
    found = [
        (path.name, selector.strip())
        for path in DASHBOARD.rglob("*.css")
        for selector, body in re.findall(r"([^{}]*)\{([^{}]*)\}", path.read_text())
        if mark.search(body) and not any(name in selector for name in FRAMES)
    ]

    assert found == []


def test_the_focus_outline_has_the_text_color_of_the_cell():
    """The page color would be invisible on dark shades in dark mode."""
    assert ".cell > a:focus-visible { outline: 2px solid currentColor;" in rules(
        "compare.css"
    )


def rules(sheet: str) -> str:
    (path,) = DASHBOARD.rglob(sheet)
    return path.read_text()


def mixed(one: str, other: str, share: float) -> str:
    """Return the visible color of a transparent one above another."""
    both = [
        (int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in both)
