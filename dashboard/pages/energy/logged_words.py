"""Logged energy in words: who takes more for the work, and how sure that is."""

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.power.integration import MeteredWork
from benchmarks.power.logged_energy import LoggedSystem, LoggedTable
from dashboard.kit import figures
from dashboard.wording.energy import joules_interval, share_text


def remarks(work: MeteredWork) -> str:
    """Return what must be known of a figure."""
    return " ".join(_(each.template) % each.words for each in work.remarks)


def answer(table: LoggedTable, names: Mapping[int, str]) -> str:
    """Return a sentence for each system beside the reference, the thirstiest first."""
    base, *others = table.systems
    told = [each for each in others if each.ratio]
    told.sort(key=lambda each: -(each.ratio.ratio if each.ratio else 0.0))
    said = [_sentence(each, base, names) for each in told]
    return " ".join(filter(None, said))


def _sentence(
    energy: LoggedSystem, base: LoggedSystem, names: Mapping[int, str]
) -> str:
    found = energy.ratio
    if found is None:
        return ""
    words = {
        "system": names[energy.system.pk],
        "reference": names[base.system.pk],
        "share": share_text(found.ratio),
    }
    is_counted = energy.joules_per_operation is not None
    said = (
        _("“%(system)s” takes %(share)s energy per operation than “%(reference)s”")
        if is_counted
        else _("“%(system)s” takes %(share)s energy for the work than “%(reference)s”")
    ) % words
    if found.low is None or found.high is None:
        return f"{said}. {joules_interval(found)}"
    sure = _("%(n)s runs against %(base)s") % {"n": energy.n, "base": base.n}
    is_tie = found.low <= 1 <= found.high
    tie = " " + _("That may be chance.") if is_tie else ""
    return (
        f"{said} ({figures.ratio(found.ratio)} {joules_interval(found)}, {sure}).{tie}"
    )


def notes(table: LoggedTable) -> Iterator[str]:
    """Yield what must be known of the meters of a table."""
    if table.is_cpu_only:
        yield _(
            "CPU only: the processors' own counters (RAPL), which see no supply, disk "
            "or fan. Never compare them with power from the wall."
        )
    runs = sum(each.unmeasured for each in table.systems)
    if runs:
        yield ngettext(
            "Of %(n)s run too little was measured; it is left out.",
            "Of %(n)s runs too little was measured; they are left out.",
            runs,
        ) % {"n": runs}
