"""What platforms kept of native speed, in one sentence that refuses when it must."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparing.answers import Answer, Standing
from dashboard.kit import figures
from dashboard.wording.evidence import work_area, work_kind


def percent(ratio: float) -> str:
    """Write a ratio in percent without its sign; less than 1 with two digits."""
    return figures.number(100 * ratio, ".2g" if 100 * ratio < 1 else ",.0f")


def kept_text(standing: Standing) -> str:
    """Return what was kept of native speed: ``67-89 %``, one figure where it is one."""
    low, high = percent(standing.low), percent(standing.high)
    text = low if low == high else f"{low}\N{EN DASH}{high}"
    return f"{text}\N{NO-BREAK SPACE}%"


def answer_text(answer: Answer | None) -> str:
    """Answer in a sentence or two, and say what is missing or not known."""
    if answer is None:
        return _(
            "Nothing here was measured beside a native run: nothing can be compared."
        )
    parts = [_statement(answer), _caution(answer)]
    if answer.unusable:
        parts.append(
            _("Measured, but without a ratio to native that counts: %(names)s.")
            % {"names": ", ".join(answer.unusable)}
        )
    if answer.missing:
        missing = {"names": ", ".join(answer.missing)}
        parts.append(_("Not measured here: %(names)s.") % missing)
    return " ".join(filter(None, parts))


def _statement(answer: Answer) -> str:
    work = f"{work_area(answer.work)}, {work_kind(answer.work)}"
    if answer.kind == "nothing":
        return _(
            "%(work)s: no result here has a ratio to native that counts, so nothing "
            "can be said."
        ) % {"work": _begun(work)}
    first, *others = answer.standings
    sentence = _begun(
        _("%(work)s: %(name)s kept %(kept)s of native speed in %(systems)s")
        % {
            "work": work,
            "name": first.name,
            "kept": kept_text(first),
            "systems": _systems_text(first),
        }
    )
    told = [sentence, *(_other(each) for each in others)]
    where = _("same host") if answer.is_same_host else _("each on its own hosts")
    if answer.kind == "compared":
        told.append(where)
    end = _evidence(answer)
    return f"{', '.join(told)}{end}."


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _other(standing: Standing) -> str:
    return _("%(name)s %(kept)s in %(systems)s") % {
        "name": standing.name,
        "kept": kept_text(standing),
        "systems": figures.number(standing.systems, "d"),
    }


def _systems_text(standing: Standing) -> str:
    n = standing.systems
    return ngettext("%(n)s configuration", "%(n)s configurations", n) % {"n": n}


def _evidence(answer: Answer) -> str:
    if answer.are_single_runs:
        return _("; single runs: weak evidence")
    if answer.is_weak:
        return _("; weak evidence")
    return ""


def _caution(answer: Answer) -> str:
    """Say what else stands against it: one platform alone, and doubted results."""
    parts = []
    if answer.kind == "alone":
        parts.append(
            _("It is the only one: which hypervisor is better here is not known.")
        )
    if answer.flagged:
        flagged = ngettext(
            "A flag doubts %(n)s of these results.",
            "Flags doubt %(n)s of these results.",
            answer.flagged,
        )
        parts.append(flagged % {"n": answer.flagged})
    if left_out := sum(answer.left_out.values()):
        impossible = ngettext(
            "%(n)s result is left out: a flag calls it impossible.",
            "%(n)s results are left out: flags call them impossible.",
            left_out,
        )
        parts.append(impossible % {"n": left_out})
    return " ".join(parts)
