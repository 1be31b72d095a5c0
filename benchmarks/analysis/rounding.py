"""How finely a number was printed."""

from __future__ import annotations

from decimal import Decimal


def last_place(value: float) -> float:
    """The step of the last decimal place: 0.01 for 12.34, at most 1 (for 1200).

    A number cannot say how many zeros were printed behind it: 12.50 counts as 12.5.
    """
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return 10.0 ** min(0, int(exponent))
