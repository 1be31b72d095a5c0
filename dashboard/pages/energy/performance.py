"""The chart of power against performance, with its table twin."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from django.utils.translation import gettext as _

from benchmarks.models import System
from dashboard.charts.bars import Line, line_chart
from dashboard.charts.drawings import Drawing, number


class Performing(Protocol):
    """What is drawn of a system's power and performance."""

    @property
    def system(self) -> System: ...
    @property
    def operations(self) -> float | None: ...
    @property
    def work_s(self) -> float | None: ...
    @property
    def mean_w(self) -> float | None: ...
    @property
    def joules_per_operation(self) -> float | None: ...
    @property
    def operations_per_joule(self) -> float | None: ...
    @property
    def energy_delay_js(self) -> float | None: ...


class PerformingTable(Protocol):
    """A workload on several systems."""

    @property
    def systems(self) -> Sequence[Performing]: ...


def performance_drawing(
    table: PerformingTable, names: Mapping[int, str]
) -> Drawing | None:
    """Draw power against performance, where the work counted what it did."""
    told = [
        (names[each.system.pk], each.operations / each.work_s, each)
        for each in table.systems
        if each.operations and each.work_s and each.mean_w
    ]
    if len(told) < 2:
        return None
    return Drawing(
        slug="performance",
        title=_("Power against performance"),
        note=_("Lower and farther right is better: less power, more work a second."),
        figure=line_chart(
            [_point(name, speed, each) for name, speed, each in told],
            x_title=_("Operations a second"),
            y_title=_("Mean power, W"),
            from_zero=False,
        ),
        head=(
            *(_("System"), _("Operations"), _("Operations a second")),
            *(_("J per operation"), _("Operations per J")),
            _("Energy-delay product"),
        ),
        rows=tuple(_row(name, speed, each) for name, speed, each in told),
    )


def _point(name: str, speed: float, each: Performing) -> Line:
    text = f"{name}: {number(speed, '1/s')}, {number(each.mean_w, 'W')}"
    return Line(name, [speed], [each.mean_w], [text], is_joined=False)


def _row(name: str, speed: float, each: Performing) -> tuple[str, ...]:
    return (
        name,
        number(each.operations, ""),
        number(speed, "1/s"),
        number(each.joules_per_operation, "J"),
        number(each.operations_per_joule, "1/J"),
        number(each.energy_delay_js, "Js"),
    )
