"""What was found doubtful, and what a person decided about it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from benchmarks.models import Flag
from dashboard import wording
from dashboard.kit.document import Section, plain_table
from dashboard.wording import states

FLAGS = 60


def flags_section(flags: Sequence[Flag]) -> Section:
    """Return what was found doubtful, and what a person decided about it."""
    counts = Counter(flag.status for flag in flags)
    if not flags:
        return Section("flags", _("Flags"), (_("Nothing was found doubtful."),))
    said = ", ".join(
        f"{states.flag_status_name(name)} {counts[name]}" for name in Flag.Status.values
    )
    texts = [_("Flags by decision: %(counts)s.") % {"counts": said}]
    if len(flags) > FLAGS:
        texts.append(_("The first %(n)s are shown.") % {"n": FLAGS})
    head = (_("Rule"), _("Severity"), _("Finding"), _("Decision"))
    rows = (
        (
            flag.rule,
            states.severity_name(flag.severity),
            wording.said(flag.sentence),
            "; ".join(_decisions(flag)) or states.flag_status_name(flag.status),
        )
        for flag in flags[:FLAGS]
    )
    table = plain_table(_("What was found doubtful"), head, rows, weights=(3, 2, 10, 3))
    return Section("flags", _("Flags"), tuple(texts), (table,))


def _decisions(flag: Flag) -> Iterator[str]:
    for decision in flag.decisions.all():
        status = states.flag_status_name(decision.status)
        day = decision.at.date().isoformat()
        yield f"{status}, {decision.who}, {day}: {decision.note}"
