"""The few strokes that charts are made of. Names are escaped here and nowhere else."""

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Final
from xml.sax.saxutils import escape, quoteattr

WIDTH: Final = 480
"""Units across: on paper a unit is a point."""
SIZE: Final = 8
LEADING: Final = 9.5
LETTER: Final = 0.5
"""How wide a letter is at most, on the average, as a part of its size."""
FONT: Final = "Libertinus Serif"
# What no XML document may hold, however it is written.
FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TONES: Final = (0.85, 0.3, 0.0, 0.6, 0.15, 0.45)
Point = tuple[float, float]


def picture(height: float, parts: Iterable[str], alt: str) -> str:
    """Return an SVG document; ``alt`` is what it tells somebody who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.1f}" '
        f'role="img" aria-label={_quoted(alt)} font-family="{FONT}" '
        f'font-size="{SIZE}" fill="currentColor" stroke="none">{"".join(parts)}</svg>'
    )


def words(
    at: Point, text: str, *, anchor: str = "start", tone: float = 1.0, turn: int = 0
) -> str:
    """Return a line of text with its base line at a point."""
    x, y = at
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill-opacity="{tone:g}"{turned}>{escape(_clean(text))}</text>'
    )


def block(at: Point, lines: Sequence[str], *, anchor: str = "end") -> str:
    """Return lines of text whose middle lies at a height."""
    x, y = at
    top = y - LEADING * (len(lines) - 1) / 2 + SIZE * 0.34
    return "".join(
        words((x, top + LEADING * at_line), line, anchor=anchor)
        for at_line, line in enumerate(lines)
    )


def stroke(
    start: Point, end: Point, *, width: float = 0.6, tone: float = 1.0, dash: str = ""
) -> str:
    """Return a straight line."""
    (x1, y1), (x2, y2) = start, end
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="currentColor" stroke-width="{width:g}" stroke-opacity="{tone:g}"'
        f"{dashed}/>"
    )


def path(points: Sequence[Point], *, dash: str = "", width: float = 0.9) -> str:
    """Return a line through points."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{joined}" fill="none" stroke="currentColor" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def box(start: Point, end: Point, *, tone: float, is_framed: bool = True) -> str:
    """Return a filled rectangle between two corners."""
    (x1, y1), (x2, y2) = start, end
    frame = ' stroke="currentColor" stroke-width="0.5"' if is_framed else ""
    return (
        f'<rect x="{min(x1, x2):.1f}" y="{min(y1, y2):.1f}" '
        f'width="{abs(x2 - x1):.1f}" height="{abs(y2 - y1):.1f}" '
        f'fill-opacity="{tone:g}"{frame}/>'
    )


def mark(at: Point, kind: int, *, radius: float = 2.4, is_open: bool = False) -> str:
    """Return a mark; each kind has a form of its own, and every second is open."""
    x, y = at
    style = 'stroke="currentColor" stroke-width="0.8"'
    style += ' fill="none"' if is_open or kind % 2 else ""
    form = (kind // 2) % 4
    if form == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {style}/>'
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.3), (1.2, 1), (-1.2, 1)),
        3: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    }[form]
    placed = " ".join(f"{x + radius * a:.1f},{y + radius * b:.1f}" for a, b in corners)
    return f'<polygon points="{placed}" {style}/>'


def width_of(text: str) -> float:
    """Return about how wide a text is."""
    return len(text) * SIZE * LETTER


def folded(text: str, width: float, most: int = 3) -> list[str]:
    """Return a text in lines of at most a width; what does not fit is cut."""
    letters = max(int(width / (SIZE * LETTER)), 4)
    lines = wrap(text, letters, break_on_hyphens=False) or [""]
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], lines[most - 1][: letters - 1] + "…"]


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))
