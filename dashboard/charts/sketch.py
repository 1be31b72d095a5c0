"""Charts as static SVG with a legend. PURE.

For pages without script: reports, and frames of other sites. Positions are shares of
the field and the font is the page's, so one picture fits every width. All marks of one
form are one path of strokes without length, so they keep their size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from operator import itemgetter
from textwrap import wrap
from typing import Final

from dashboard.charts.chart import (
    FRAME_PX,
    OPEN,
    ROW_LETTERS,
    STROKE,
    SYMBOLS,
    Band,
    Bars,
    Box,
    Chart,
    Note,
    Panel,
    Points,
    Rule,
    full_name,
    legible,
)
from dashboard.charts.scales import Scale, scales_of, ticks_of

FIELD: Final = 1000
"""Units of a field, across and upwards, however large it is shown."""
LETTER_PX: Final = 6.6
NARROW_PX, WIDE_PX = 250, 640
LINE_PX: Final = 14
ARROWS: Final = {"triangle-left-open": "◁", "triangle-right-open": "▷"}
PANEL_LETTERS: Final = 26
"""As many letters of a row's name stand in a line beside several panels."""
BOX_SHARE: Final = 0.31
PUPIL: Final = 0.32
PX_A_REM: Final = 16
Place = tuple[float, float]


@dataclass(frozen=True)
class Field:
    panel: Panel
    x: Scale
    y: Scale
    height_px: float

    def at(self, x: float, y: float) -> str:
        return f"{FIELD * self.x.share(x):.0f} {FIELD - FIELD * self.y.share(y):.0f}"


def sketch(chart: Chart, alt: str) -> str:
    """Return a chart as HTML; ``alt`` is what it tells somebody who cannot see it."""
    # By these the style sheet keeps room for the names beside and below the field.
    kinds = ["sketch"]
    if chart.panels[0].y.scale == "category":
        kinds.append("sketch-rows")
        lines = (
            line for _at, name in chart.panels[0].y.ticks for line in name.split("\n")
        )
        if len(chart.panels) == 1 and max(map(len, lines), default=0) > PANEL_LETTERS:
            kinds.append("sketch-long")
    below = (name for panel in chart.panels for _value, name in panel.x.ticks)
    if any("\n" in name for name in below):
        kinds.append("sketch-deep")
    if chart.across > 1:
        kinds.append("sketch-panels")
    drawn = "".join(_placed(chart))
    label = escape(legible(alt))
    height = f"{chart.height / PX_A_REM:g}rem"
    return (
        f'<div class="{" ".join(kinds)}">{_key(chart)}<svg class="sketch-field" '
        f'height="{height}" role="img" aria-label="{label}">{drawn}</svg></div>'
    )


def _key(chart: Chart) -> str:
    entries = []
    for _at, series in chart.listed:
        paint = _paint(series.colour)
        if isinstance(series, Bars):
            swatch = f'<path class="area {paint}" d="M0 1h12v10h-12z"/>'
        else:
            line = '<path class="line{}" d="M0 6h12"/>'
            dashed = f" {series.line.dash}" if series.line else ""
            swatch = line.format(f" {paint}{dashed}") if series.line else ""
            if series.symbol:
                swatch += "".join(_mark("M6 6h0", series.key, paint, 8, 1))
        svg = f'<svg viewBox="0 0 12 12" aria-hidden="true">{swatch}</svg>'
        entries.append(f"<li>{svg}{_text_of(full_name(series))}</li>")
    return f'<ul class="sketch-key">{"".join(entries)}</ul>' if entries else ""


def _placed(chart: Chart) -> Iterator[str]:
    """Yield each panel at its place: below each other, or side by side in lines."""
    count, across = len(chart.panels), chart.across
    lines = -(-count // across)
    tall = (1 - chart.gap * (lines - 1)) / lines
    for at, panel in enumerate(chart.panels):
        line, column = divmod(at, across)
        is_last = not chart.shares_x or line == lines - 1
        drawn = "".join(_panel(panel, chart, has_x=is_last, has_y=column == 0))
        if count == 1:
            yield drawn
            continue
        in_line = min(across, count - line * across)
        wide = 1 / in_line
        x, y = column * wide, line * (tall + chart.gap)
        width = wide * (0.94 if in_line > 1 else 1)
        yield (
            f'<svg x="{x:.1%}" y="{y:.1%}" width="{width:.1%}" height="{tall:.1%}">'
            f"{drawn}</svg>"
        )


def _panel(panel: Panel, chart: Chart, *, has_x: bool, has_y: bool) -> Iterator[str]:
    lines = 1 if chart.shares_x else -(-len(chart.panels) // chart.across)
    height_px = (chart.height - FRAME_PX) / lines
    field = Field(panel, *scales_of(panel, chart.bars), height_px)
    x_ticks, y_ticks = ticks_of(panel.x, field.x), ticks_of(panel.y, field.y)
    paths = [
        *(_band(band, field) for band in panel.bands),
        *_grid(panel, field, x_ticks, y_ticks),
        *_series(panel, chart, field),
        *(_rule(rule, field) for rule in panel.rules),
    ]
    yield (
        f'<svg viewBox="0 0 {FIELD} {FIELD}" width="100%" height="100%" '
        f'preserveAspectRatio="none">{"".join(paths)}</svg>'
    )
    if has_x:
        yield from _below(field, x_ticks, min(chart.across, len(chart.panels)))
    if has_y:
        is_alone = len(chart.panels) == 1
        letters = ROW_LETTERS if is_alone else PANEL_LETTERS
        yield from _beside(field, y_ticks, letters)
    if panel.title:
        yield _words(0, 0, panel.title, dy="-0.5em")
    for note in panel.notes:
        yield _note(note, field)
    for rule in panel.rules:
        if rule.label:
            yield _words(field.x.share(rule.at), 0, rule.label, dx=4, dy="1em")
    for series in panel.series:
        if isinstance(series, Points):
            yield from _arrows(series, field)
            yield from _called(series, field) if series.side else ()


def _grid(
    panel: Panel,
    field: Field,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
) -> Iterator[str]:
    lines = ""
    if panel.x.has_grid and panel.x.scale != "category":
        xs = (FIELD * field.x.share(value) for value, _name in x_ticks)
        lines += "".join(f"M{x:.0f} 0V{FIELD}" for x in xs)
    if panel.y.has_grid and panel.y.scale != "category":
        ys = (FIELD - FIELD * field.y.share(value) for value, _name in y_ticks)
        lines += "".join(f"M0 {y:.0f}H{FIELD}" for y in ys)
    yield f'<path class="sketch-grid" d="{lines}M0 {FIELD}H{FIELD}"/>'


def _below(
    field: Field, ticks: Sequence[tuple[float, str]], across: int
) -> Iterator[str]:
    """Write the names below the field; on a phone only those that find room."""
    axis, scale = field.panel.x, field.x
    shares = [scale.share(value) for value, _name in ticks]
    narrow, wide = (_fitting(shares, ticks, px / across) for px in (NARROW_PX, WIDE_PX))
    for at, (share, (_value, name)) in enumerate(zip(shares, ticks, strict=True)):
        if at in wide:
            kind = "" if at in narrow else "sketch-wide"
            yield _words(share, 1, name, dy="1.25em", anchor="middle", kind=kind)
    if axis.title:
        title = axis.title
        yield _words(1, 1, title, dy="2.7em", anchor="end", kind="sketch-title")


def _fitting(
    shares: Sequence[float], ticks: Sequence[tuple[float, str]], width: float
) -> set[int]:
    fitting, end = set(), -1e9
    for at, share in sorted(enumerate(shares), key=itemgetter(1)):
        letters = max(len(line) for line in ticks[at][1].split("\n"))
        half = letters * LETTER_PX / 2
        if share * width - half > end:
            fitting.add(at)
            end = share * width + half + LETTER_PX
    return fitting


def _beside(
    field: Field, ticks: Sequence[tuple[float, str]], letters: int
) -> Iterator[str]:
    axis, scale = field.panel.y, field.y
    is_rows = axis.scale == "category"
    values = sorted(value for value, _name in ticks)
    # Rows may be of any height: a name has what lies between it and the next one.
    apart = min((b - a for a, b in pairwise(values)), default=1.0)
    row = apart / (scale.high - scale.low)
    for value, name in ticks:
        y = 1 - scale.share(value)
        if not is_rows:
            yield _words(0, y, name, dx=-6, dy="0.35em", anchor="end")
            continue
        lines = [line for part in name.split("\n") for line in wrap(part, letters)]
        room = max(1, int(row * field.height_px / LINE_PX))
        if len(lines) > room:
            lines = [*lines[: room - 1], f"{lines[room - 1][: letters - 1]}…"]
        dy = f"{0.35 - 0.6 * (len(lines) - 1):.2f}em"
        shown, above = "\n".join(lines), name.replace("\n", ", ")
        # Both are in the picture: the style sheet shows the one that fits its width.
        yield _words(0, y, shown, dx=-8, dy=dy, anchor="end", kind="sketch-wide")
        yield _words(0, max(y - row / 2, 0), above, dy="0.4em", kind="sketch-narrow")
    if axis.title:
        yield _words(0, 0, axis.title, dx=-50, dy="-0.6em", kind="sketch-title")


def _band(band: Band, field: Field) -> str:
    across, upwards = (band.low, band.high), band.ends or (field.y.low, field.y.high)
    if band.axis == "y":
        across, upwards = band.ends or (field.x.low, field.x.high), across
    return f'<path class="band" d="{_box(field, across, upwards)}"/>'


def _box(field: Field, across: Place, upwards: Place) -> str:
    (x0, x1), (y0, y1) = across, upwards
    corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return f"M{'L'.join(field.at(*corner) for corner in corners)}z"


def _rule(rule: Rule, field: Field) -> str:
    ends = rule.ends or (
        (field.y.low, field.y.high) if rule.axis == "x" else (field.x.low, field.x.high)
    )
    places = [(rule.at, end) if rule.axis == "x" else (end, rule.at) for end in ends]
    dash = "" if rule.stroke and not rule.stroke.dash else " dash"
    d = "L".join(field.at(*place) for place in places)
    return f'<path class="rule{dash}" d="M{d}"/>'


def _series(panel: Panel, chart: Chart, field: Field) -> Iterator[str]:
    boxes: dict[int, list[str]] = {}
    for box in panel.bar_boxes(chart.bars):
        across, upwards = box.values, box.places
        if box.series.is_upright:
            across, upwards = upwards, across
        # By id: series hold lists and have no hash.
        boxes.setdefault(id(box.series), []).append(_box(field, across, upwards))
    for series in panel.series:
        if isinstance(series, Box):
            yield from _quartiles(series, field)
        elif isinstance(series, Points):
            yield from _points(series, field)
        else:
            is_open = " open" if series.is_open else ""
            d = "".join(boxes.get(id(series), ()))
            yield f'<path class="area {_paint(series.colour)}{is_open}" d="{d}"/>'


def _quartiles(box: Box, field: Field) -> Iterator[str]:
    top, bottom = box.row - BOX_SHARE, box.row + BOX_SHARE
    body = _box(field, (box.q1, box.q3), (top, bottom))
    ends = ((box.low, box.q1), (box.q3, box.high))
    lines = [f"M{field.at(a, box.row)}L{field.at(b, box.row)}" for a, b in ends]
    lines.append(f"M{field.at(box.median, top)}L{field.at(box.median, bottom)}")
    yield f'<path class="box" d="{body}{"".join(lines)}"/>'


def _points(points: Points, field: Field) -> Iterator[str]:
    places = list(zip(points.x, points.y, strict=True))
    paint = _paint(points.colour)
    if points.line:
        colour = _paint(points.line.colour) if points.line.colour else paint
        wide = " wide" if points.line.width > 2 else ""
        d = _path(places, field, is_stepped=points.line.is_stepped)
        yield f'<path class="line {colour} {points.line.dash}{wide}" d="{d}"/>'
    if points.low:
        yield f'<path class="line {paint}" d="{_intervals(points, field)}"/>'
    if not points.symbol:
        return
    forms: dict[tuple[str, str, float], list[str]] = {}
    for at, (x, y) in enumerate(places):
        if x is None or y is None:
            continue
        symbol = points.symbol if isinstance(points.symbol, str) else points.symbol[at]
        one = points.colour if isinstance(points.colour, str) else points.colour[at]
        form = symbol, _paint(one), points.opacity_at(at)
        forms.setdefault(form, []).append(f"M{field.at(x, y)}")
    for (symbol, colour, opacity), moves in forms.items():
        if symbol in ARROWS:
            continue  # written as letters: strokes have no direction
        if symbol == STROKE:
            # The other marks have no length; this one has, in units of the field.
            half = FIELD * points.size / 2 / field.height_px
            d = "".join(f"{move}m0 {-half:.0f}v{2 * half:.0f}" for move in moves)
            yield f'<path class="line {colour}" d="{d}"/>'
        else:
            d = "".join(f"{move}h0" for move in moves)
            yield from _mark(d, symbol, colour, points.size, opacity)


def _mark(
    d: str, symbol: str, colour: str, size: float, opacity: float
) -> Iterator[str]:
    """Draw marks: every second form is square, of four the last two have a pupil.

    What is open is a thin ring: it means something.
    """
    base = symbol.removesuffix(OPEN)
    form = SYMBOLS.index(base) if base in SYMBOLS else 0
    shape = "square" if form % 2 else "round"
    faded = f' opacity="{opacity:g}"' if opacity != 1 else ""
    wide = size * (0.85 if form % 2 else 0.95)
    look = f'class="mark {shape} {colour}" stroke-width="{wide:.3g}"'
    yield f'<path {look}{faded} d="{d}"/>'
    hole = wide - 3.4 if symbol.endswith(OPEN) else wide * PUPIL
    if symbol.endswith(OPEN) or form % 4 > 1:
        look = f'class="mark {shape} hole" stroke-width="{hole:.3g}"'
        yield f'<path {look} d="{d}"/>'


def _path(
    places: Sequence[tuple[float | None, float | None]],
    field: Field,
    *,
    is_stepped: bool,
) -> str:
    parts = []
    for (x0, y0), (x, y) in pairwise([(None, None), *places]):
        if x is None or y is None:
            continue
        if x0 is None or y0 is None:
            parts.append(f"M{field.at(x, y)}")
        else:
            if is_stepped:
                parts.append(f"L{field.at(x, y0)}")
            parts.append(f"L{field.at(x, y)}")
    return "".join(parts)


def _intervals(points: Points, field: Field) -> str:
    parts = []
    for x, y, low, high in zip(
        points.x, points.y, points.low, points.high, strict=True
    ):
        if x is None or y is None or low is None or high is None:
            continue
        is_across = points.along == "x"
        ends = [(end, y) if is_across else (x, end) for end in (low, high)]
        parts.append("M" + "L".join(field.at(*end) for end in ends))
    return "".join(parts)


def _arrows(points: Points, field: Field) -> Iterator[str]:
    for at, (x, y) in enumerate(zip(points.x, points.y, strict=True)):
        symbol = points.symbol if isinstance(points.symbol, str) else points.symbol[at]
        if symbol in ARROWS and x is not None and y is not None:
            place = field.x.share(x), 1 - field.y.share(y)
            yield _words(*place, ARROWS[symbol], dy="0.35em", anchor="middle")


def _called(points: Points, field: Field) -> Iterator[str]:
    for x, y, name in zip(points.x, points.y, points.names, strict=True):
        if x is None or y is None:
            continue
        share = field.x.share(x)
        room = len(name) * LETTER_PX / NARROW_PX
        is_left = (points.side == "left" and share > room) or share + room > 1.1
        dx, anchor = (-8, "end") if is_left else (8, "start")
        up = 1 - field.y.share(y)
        yield _words(share, up, name, dx=dx, dy="0.35em", anchor=anchor)


def _note(note: Note, field: Field) -> str:
    share = field.x.share(note.x)
    is_free = not note.beside and note.anchor == "middle"
    is_left = note.beside == "left" or (is_free and share > 0.5)
    dx, anchor = (-6, "end") if is_left else (6, "start")
    return _words(share, 0, note.text, dx=dx, dy="1em", anchor=anchor)


def _words(
    x: float,
    y: float,
    text: str,
    *,
    dx: float = 0,
    dy: str = "0",
    anchor: str = "start",
    kind: str = "",
) -> str:
    """Return lines of text; ``x`` and ``y`` are shares of the field from its top."""
    place = f'x="{100 * x:.4g}%" y="{100 * y:.4g}%"'
    moved = (f' dx="{dx:g}"' if dx else "") + (f' dy="{dy}"' if dy != "0" else "")
    named = f' class="{kind}"' if kind else ""
    held = f' text-anchor="{anchor}"' if anchor != "start" else ""
    first, *others = text.split("\n")
    lines = "".join(
        # chr(34) is a quote: within both kinds Python 3.11 has no third.
        f'<tspan x="{100 * x:.4g}%"{f" dx={chr(34)}{dx:g}{chr(34)}" if dx else ""} '
        f'dy="1.2em">{_text_of(line)}</tspan>'
        for line in others
    )
    return f"<text {place}{moved}{held}{named}>{_text_of(first)}{lines}</text>"


def _paint(colour: str | tuple[str, ...]) -> str:
    return f"paint-{colour if isinstance(colour, str) else colour[0]}"


def _text_of(text: str) -> str:
    return escape(legible(text), quote=False)
