from collections.abc import Sequence
from itertools import groupby
from typing import Any

from benchmarks.comparison.overhead_profile import SpectrumBand
from dashboard.kit import formatting

# An axis up to an outlier, such as a unit error (0.001), would squeeze all other lines.
LOWEST, HIGHEST = 0.1, 4.0
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
LABELED_TICKS = (0.25, 1.0, 4.0)
NEUTRAL_DISTANCE = 0.02


def ratio_strips(bands: Sequence[SpectrumBand]) -> dict[str, Any] | None:
    """Return the positions of all ratios as CSS texts; None without bands."""
    if not bands:
        return None
    low = max(min(0.25, *(band.lowest for band in bands)) * 0.85, LOWEST)
    high = min(max(1.25, *(band.highest for band in bands)) * 1.15, HIGHEST)

    def position(ratio: float) -> str:
        return f"{100 * formatting.axis_position(ratio, low, high):.2f}%"

    groups = []
    for component, members in groupby(bands, key=lambda band: band.component):
        strips = []
        for band in members:
            lines = []
            for ratio in band.lines:
                side = "below" if ratio < 1 else "above"
                if abs(ratio - 1) <= NEUTRAL_DISTANCE:
                    side = "near"
                if low <= ratio <= high:
                    lines.append({"x": position(ratio), "side": side})
            strip = {
                "band": band,
                "lines": lines,
                "goes_below": band.lowest < low,
                "goes_above": band.highest > high,
            }
            strips.append(strip)
        groups.append({"component": component, "strips": strips})
    return {
        "groups": groups,
        "ticks": [
            (position(tick), formatting.number(tick, ".3g"), tick in LABELED_TICKS)
            for tick in TICKS
            if low <= tick <= high
        ],
        "native": position(1.0),
        "pairs": sum(band.pairs for band in bands),
        "has_doubts": any(
            band.is_lowest_flagged or band.is_highest_flagged for band in bands
        ),
    }
