"""Answers about a hypervisor or a machine: the range over classes of work."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.evidence.synthesis import Synthesis
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.answers import strength_sentence
from dashboard.wording import evidence

Named = tuple[str, Synthesis]


def range_sentence(name: str, subjects: Sequence[Named], work_count: int) -> str:
    """Return where virtual machines are fastest and slowest, and the evidence.

    ``work_count`` is the number of classes of work that were measured.
    """
    known = []
    for subject, synthesis in subjects:
        ends, points = evidence.shown_range(synthesis)
        if points:
            known.append((sum(points) / len(points), subject, ends, synthesis))
    if not known:
        return _("No study has compared %(name)s with bare metal.") % {"name": name}
    known.sort(key=lambda item: -item[0])
    texts = [
        _("%(subject)s (%(range)s)")
        % {"subject": subject, "range": evidence.percent_range(*map(exp, ends))}
        for _mid, subject, ends, _synthesis in known
    ]
    counted = ngettext(
        "Measured in %(n)s of %(possible)s classes of work.",
        "Measured in %(n)s of %(possible)s classes of work.",
        work_count,
    ) % {"n": work_count, "possible": len(WORK_CLASSES)}
    if len(known) == 1:
        text = _("%(name)s relative to bare metal: %(best)s.")
    else:
        text = _(
            "%(name)s relative to bare metal: best for %(best)s, worst for %(worst)s."
        )
    values = {"name": name, "best": texts[0], "worst": texts[-1]}
    strength = strength_sentence([synthesis for *_rest, synthesis in known])
    return " ".join([text % values, counted, strength])
