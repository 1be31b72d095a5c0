"""What the pages of reviews show: answers, studies, and what is different now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import log
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Changes, Record
from benchmarks.models import Review
from benchmarks.publishing.reviews import questions_of
from dashboard.charts.drawings import NONE
from dashboard.exports.evidence import question_name
from dashboard.exports.review import plot_name
from dashboard.kit import figures
from dashboard.kit.evidence_matrix import question_address
from dashboard.wording import Text, evidence

STRENGTHS: Final[Mapping[str, Text]] = {
    strength.slug: words for strength, words in evidence.STRENGTHS.items()
}
PARTS: Final[Mapping[str, Text]] = {
    "pool": "",
    "single_runs": gettext_lazy("single runs"),
}


@dataclass(frozen=True)
class Choice:
    """A question that may be asked, for a form."""

    value: str
    work: str
    is_chosen: bool


@dataclass(frozen=True)
class AnswerLine:
    """What was known of a question, in words; ``plots`` are files by their ending."""

    name: str
    address: str
    ratio: str
    interval: str
    predicted: str
    tau: str
    i2: str
    counted: str
    strength: str
    left_out: str
    plots: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class StudyLine:
    title: str
    address: str
    by: str
    version: str
    version_address: str


def choices(
    asked: Collection[Question], chosen: Collection[Question] | None
) -> list[tuple[str, list[Choice]]]:
    """Return the questions of each hypervisor; all are chosen unless some are."""
    return [
        (
            hypervisor,
            [
                Choice(
                    value=f"{question.hypervisor}/{question.work}",
                    work=evidence.work_name(question.work),
                    is_chosen=chosen is None or question in chosen,
                )
                for question in members
            ],
        )
        for hypervisor, members in groupby(asked, key=lambda it: it.hypervisor)
    ]


def answer_lines(review: Review) -> Iterator[AnswerLine]:
    names = {file.name for file in review.files.all()}
    for record in questions_of(review):
        parts = [part for part in PARTS if record[part]["machines"]] or ["pool"]
        for part in parts:
            pool = record[part]
            plot = plot_name(record)
            files = [f"{plot}.{form}" for form in ("svg", "pdf", "png")]
            yield AnswerLine(
                name=", ".join(filter(None, (question_name(record), str(PARTS[part])))),
                address=question_address(
                    Question(record["hypervisor"], record["work_class"])
                ),
                ratio=_ratio(pool["mean"], pool["interval"]),
                interval=_ends(pool["interval"]),
                predicted=_ends(pool["predicted"]),
                tau=NONE
                if pool["tau2"] is None
                else figures.number(pool["tau2"] ** 0.5, ".2g"),
                i2=NONE
                if pool["i2"] is None
                else f"{figures.number(100 * pool['i2'], '.0f')}\N{NO-BREAK SPACE}%",
                counted=", ".join(
                    (
                        evidence.machines_text(pool["machines"]),
                        evidence.labs_text(pool["labs"]),
                    )
                ),
                strength=str(STRENGTHS[record["strength"]]) if part == parts[0] else "",
                left_out=_left_out(record) if part == parts[0] else "",
                plots=tuple(
                    (
                        name.rpartition(".")[2].upper(),
                        reverse("dashboard:review-file", args=[review.pk, name]),
                    )
                    for name in files
                    if name in names and part == parts[0]
                ),
            )


def study_lines(review: Review) -> Iterator[StudyLine]:
    for study in review.content["studies"]:
        version = study["version"]
        yield StudyLine(
            title=study["title"],
            address=reverse("dashboard:study", args=study["study"].split("/")),
            by=", ".join(
                filter(
                    None, (study["author"], study["institution"], study["published"])
                )
            ),
            version=_("Version %(number)s") % version if version else "",
            version_address=reverse("dashboard:version", args=[version["id"]])
            if version
            else "",
        )


def changed_lines(review: Review, found: Changes) -> list[str]:
    """Say in sentences what is different now; nothing: no sentence."""
    titles = {it["study"]: it["title"] for it in review.content["studies"]}
    lines = []
    if found.new:
        words = ngettext(
            "One study more says something of it: %(names)s.",
            "%(n)s studies more say something of it: %(names)s.",
            len(found.new),
        )
        lines.append(words % {"n": len(found.new), "names": ", ".join(found.new)})
    if found.gone:
        words = ngettext(
            "One study says nothing about it any more: %(names)s.",
            "%(n)s studies say nothing about it any more: %(names)s.",
            len(found.gone),
        )
        names = ", ".join(titles.get(name, name) for name in found.gone)
        lines.append(words % {"n": len(found.gone), "names": names})
    if found.changed:
        words = ngettext(
            "One study has other results: %(names)s.",
            "%(n)s studies have other results: %(names)s.",
            len(found.changed),
        )
        names = ", ".join(titles.get(name, name) for name in found.changed)
        lines.append(words % {"n": len(found.changed), "names": names})
    for answer in found.answers:
        lines.append(
            _("%(question)s: then %(then)s, now %(now)s.")
            % {
                "question": question_name(answer.then),
                "then": _in_short(answer.then),
                "now": _in_short(answer.now),
            }
        )
    return lines


def _in_short(record: Record) -> str:
    pool = record["pool"] if record["pool"]["machines"] else record["single_runs"]
    if not pool["machines"]:
        return _("nothing that can be pooled")
    words = evidence.machines_text(pool["machines"])
    if pool["mean"] is None:
        return words
    beside = _ends(pool["predicted"] or pool["interval"])
    return f"{_ratio(pool['mean'], pool['interval'])} ({beside}), {words}"


def _left_out(record: Record) -> str:
    reasons = (
        f"{evidence.OBSTACLES[reason]}: {count}"
        for reason, count in record["screened"].items()
    )
    return "; ".join(reasons)


def _ratio(value: float | None, within: figures.Interval | None) -> str:
    return NONE if value is None else figures.ratio(value, within)


def _ends(ends: Collection[float] | None) -> str:
    if ends is None:
        return NONE
    low, high = ends
    return evidence.ends_text((log(low), log(high)))
