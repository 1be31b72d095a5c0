"""Whether a lab did what it should, and the table that says so. PURE."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lab.boots import LIAR, NATIVE, NSPAWN, System
from lab.console import ClockCheck, Said
from lab.results import Found

LIE: Final = 0.1
TRUE: Final = 0.02
HEAD: Final = (
    "system",
    "layers detected",
    "results",
    "clock on the page",
    "its clock",
    "time server",
    "seconds",
)
_THIS_MACHINES: Final = {
    each.name for boot in (NATIVE, NSPAWN) for each in boot.systems
}
_LIAR: Final = LIAR.systems[0].name


def problems(
    systems: Iterable[System],
    found: Mapping[str, Found],
    said: Mapping[str, Sequence[Said]],
    beneath: tuple[str, ...],
) -> list[str]:
    """Return, in sentences, what is not as it should be."""
    told = []
    for system in systems:
        here = found[system.name]
        if here.parsed != here.wanted:
            told.append(
                f"{system.name}: {here.parsed} of {here.wanted} results are readable "
                "on the server."
            )
        # Who shares this machine's kernel sees what the machine itself stands on.
        outer = beneath if system.name in _THIS_MACHINES else ()
        if here.layers - {(*outer, *system.seen)}:
            told.append(f"{system.name}: the agent detected {_layers(here)}.")
    if _LIAR in found:
        told += _about_the_liar(found[_LIAR], _worst(said.get(_LIAR, ())))
    return told


def _about_the_liar(found: Found, clock: ClockCheck | None) -> list[str]:
    told = []
    if clock is None:
        return ["liar: nobody knows how its clock went."]
    if abs(clock.local_error) - clock.bound < LIE:
        told.append(f"liar: its clock was only {clock.local_error:+.1%} off.")
    if abs(clock.external_error) - clock.bound > TRUE:
        told.append(f"liar: its time server was {clock.external_error:+.1%} off.")
    if set(found.trusts) != {"suspect"}:
        told.append(f"liar: the page calls its clock {_trusts(found)}, not suspect.")
    return told


def table(
    systems: Iterable[System],
    found: Mapping[str, Found],
    said: Mapping[str, Sequence[Said]],
    seconds: Mapping[str, float],
) -> list[str]:
    """Return the lines of the final table."""
    rows = [HEAD]
    for system in systems:
        here, clock = found[system.name], _worst(said.get(system.name, ()))
        rows.append(
            (
                system.name,
                _layers(here) or "-",
                f"{here.parsed} of {here.wanted}",
                _trusts(here) or "-",
                f"{clock.local_error:+.2%}" if clock else "-",
                f"{clock.external_error:+.2%} +-{clock.bound:.2%}" if clock else "-",
                f"{seconds.get(system.name, 0.0):.0f}",
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _layers(found: Found) -> str:
    return ", ".join(" > ".join(each) or "none" for each in sorted(found.layers))


def _trusts(found: Found) -> str:
    return ", ".join(
        f"{count} {trust}" for trust, count in sorted(found.trusts.items())
    )


def _worst(said: Sequence[Said]) -> ClockCheck | None:
    """Return the check in which the system's clock was furthest off."""
    checks = [clock for each in said for clock in each.clocks]
    return max(checks, key=lambda each: abs(each.local_error), default=None)
