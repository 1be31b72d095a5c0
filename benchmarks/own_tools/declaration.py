"""What a lab declares of a tool of its own. PURE: what may be said, and what changed.

A declaration says of each metric what a file of ``benchmarks/tools/`` says of a tool
that everybody has, so that results of both are judged alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, cast, get_args

from benchmarks import tools, units
from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import (
    NO_CLASS,
    Better,
    Component,
    Kind,
    Metric,
    Tool,
    always,
    folded,
)
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse
from benchmarks.work_classes import work_class

BETWEEN: Final = ":"
"""Stands between lab and slug in the name of an own tool; in no other tool's."""
MAX_METRICS: Final = 50
MAX_SLUG: Final = 50
MAX_NAME: Final = 100
MAX_HOMEPAGE: Final = 300
MAX_DESCRIPTION: Final = 5_000
BETTER: Final[tuple[str, ...]] = get_args(Better)
COMPONENTS: Final[tuple[str, ...]] = get_args(Component)
KINDS: Final[tuple[str, ...]] = get_args(Kind)
# What results already stored were read by: none of it can become another thing.
LASTING: Final = ("unit", "better", "kind", "fixed_by")

_SLUG: Final = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetric:
    """One metric as it is stored and sent.

    ``work_class`` is a slug of the vocabulary, "" for work of none. ``kind`` is what
    sort of number it is (`Metric.kind`), "" what its unit and direction say: a time
    that is always of one length is a "setting". ``fixed_by`` is the parameter that
    fixes the value (a test told to run for 60 s takes 60 s). Neither has a speed. Only
    ``primary`` ones enter profiles and corrections.
    """

    name: str
    unit: str
    better: str
    component: str
    title: str = ""
    work_class: str = ""
    kind: str = ""
    fixed_by: str = ""
    zero_allowed: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """All that a version of an own tool says."""

    title: str
    metrics: tuple[DeclaredMetric, ...]
    homepage: str = ""
    description: str = ""

    @property
    def stored(self) -> dict[str, Any]:
        """The fields of a row of `OwnToolVersion`."""
        return {
            "title": self.title,
            "homepage": self.homepage,
            "description": self.description,
            "metrics": [asdict(metric) for metric in self.metrics],
        }


def checked_slug(slug: str) -> str:
    """A slug that an own tool may have, or the sentence why not."""
    if len(slug) > MAX_SLUG or not _SLUG.fullmatch(slug):
        raise _refused(
            "slug",
            Sentence(
                "A tool's slug has small letters a-z and digits, with single - or _"
                " between them: boot-time, at most {most} characters.",
                most=MAX_SLUG,
            ),
        )
    _refuse_known("slug", slug)
    return slug


def declared(document: Mapping[str, Any]) -> Declaration:
    """What a document declares in its one spelling, or an InvalidError with a field.

    The shape of the document is checked already: texts are texts, flags are flags.
    """
    title = _text(document, "title", MAX_NAME)
    if not title:
        raise _refused("title", Sentence("A tool needs a title: what people call it."))
    if BETWEEN in title:
        raise _refused(
            "title", Sentence("A tool's title has no colon: it separates lab and tool.")
        )
    _refuse_known("title", title)
    homepage = _text(document, "homepage", MAX_HOMEPAGE)
    if homepage and not _ADDRESS.fullmatch(homepage):
        raise _refused(
            "homepage",
            Sentence("Send an address that begins with https:// or http://."),
        )
    return Declaration(
        title=title,
        homepage=homepage,
        description=_text(document, "description", MAX_DESCRIPTION, multiline=True),
        metrics=_metrics(document["metrics"]),
    )


def stored_declaration(row: Mapping[str, Any]) -> Declaration:
    """The declaration of a stored version; a field it lacks has its default."""
    known = {each.name for each in fields(DeclaredMetric)}
    metrics = tuple(
        DeclaredMetric(**{name: metric[name] for name in known & metric.keys()})
        for metric in row["metrics"]
    )
    texts = {name: row[name] for name in ("title", "homepage", "description")}
    return Declaration(metrics=metrics, **texts)


def refuse_changes(
    old: Declaration, new: Declaration, measured: Collection[str]
) -> None:
    """Raise InvalidError if a metric that has results would mean another thing.

    ``measured`` are the names of the metrics that have results.
    """
    before = {metric.name: metric for metric in old.metrics}
    after = {folded(metric.name): metric for metric in new.metrics}
    for name in sorted(measured):
        was, now = before[name], after.get(folded(name))
        if now is None or now.name != name:
            raise _refused(
                "metrics",
                Sentence(
                    '"{metric}" has results, so it stays, under this name. Uploads'
                    " need not send it any more.",
                    metric=name,
                ),
            )
        words = {
            "unit": Sentence("unit"),
            "better": Sentence("direction"),
            "kind": Sentence("kind of number"),
            "fixed_by": Sentence("parameter that fixes it"),
        }
        for field in LASTING:
            if getattr(was, field) != getattr(now, field):
                raise _refused(
                    "metrics",
                    Sentence(
                        '"{metric}" has results, so its {property} cannot change.'
                        " Declare a new metric under another name.",
                        metric=name,
                        property=words[field],
                    ),
                )
        if was.zero_allowed and not now.zero_allowed:
            raise _refused(
                "metrics",
                Sentence(
                    '"{metric}" has results, and 0 could be one of them: it stays'
                    " allowed.",
                    metric=name,
                ),
            )


def tool_of(name: str, declaration: Declaration) -> Tool:
    """The tool as all analyses know it; ``name`` is the stored one, ``lab:slug``."""
    return Tool(
        slug=name,
        title=declaration.title,
        homepage=declaration.homepage,
        metrics=tuple(
            Metric(
                metric.name,
                metric.unit,
                cast(Better, metric.better),
                cast(Component, metric.component),
                title=metric.title,
                zero_allowed=metric.zero_allowed,
                kind=cast(Kind, metric.kind) if metric.kind else None,
                fixed_by=(metric.fixed_by,) if metric.fixed_by else (),
            )
            for metric in declaration.metrics
        ),
        primary={
            metric.name: always(metric.work_class) if metric.work_class else NO_CLASS
            for metric in declaration.metrics
            if metric.primary
        },
    )


def _metrics(documents: Sequence[Mapping[str, Any]]) -> tuple[DeclaredMetric, ...]:
    if not 0 < len(documents) <= MAX_METRICS:
        raise _refused(
            "metrics",
            Sentence("A tool has 1 to {most} metrics.", most=MAX_METRICS),
        )
    metrics: list[DeclaredMetric] = []
    for at, document in enumerate(documents):
        try:
            metrics.append(_metric(document))
        except BenchmarksError as error:
            error.field = ".".join(filter(None, (f"metrics[{at}]", error.field)))
            raise
    names = [folded(metric.name) for metric in metrics]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise _refused(
                f"metrics[{at}].name",
                Sentence('Two metrics are called "{name}".', name=metrics[at].name),
            )
    if not any(metric.primary for metric in metrics):
        raise _refused(
            "metrics",
            Sentence(
                "Name at least one metric as primary: profiles and corrections for"
                " many tests use those alone."
            ),
        )
    return tuple(metrics)


def _metric(document: Mapping[str, Any]) -> DeclaredMetric:
    name = _text(document, "name", MAX_NAME)
    if not name:
        raise _refused("name", Sentence("A metric needs a name."))
    for field, known in (("better", BETTER), ("component", COMPONENTS)):
        if document.get(field) not in known:
            raise _refused(
                field, Sentence("Send one of {known}.", known=", ".join(known))
            )
    try:
        unit = units.unit(document["unit"]).symbol
    except BenchmarksError as error:
        error.field = "unit"
        raise
    return DeclaredMetric(
        name=name,
        title=_text(document, "title", MAX_NAME),
        unit=unit,
        better=document["better"],
        component=document["component"],
        work_class=_work_class(document.get("work_class", "")),
        kind=_kind(document.get("kind", "")),
        fixed_by=_parameter(document.get("fixed_by", "")),
        zero_allowed=document.get("zero_allowed", False),
        primary=document.get("primary", False),
    )


def _work_class(name: str) -> str:
    try:
        return work_class(name).slug if name else ""
    except ValueError as error:
        raise _refused("work_class", str(error)) from None


def _kind(name: str) -> str:
    if name and name not in KINDS:
        raise _refused("kind", Sentence("Send one of {known}.", known=", ".join(KINDS)))
    return name


def _parameter(name: str) -> str:
    """A parameter's name as cases spell it."""
    try:
        [key] = display_parameters({name: "1"}) if collapse(name) else [""]
    except BenchmarksError as error:
        error.field = "fixed_by"
        raise
    return key


def _text(
    document: Mapping[str, Any], field: str, most: int, *, multiline: bool = False
) -> str:
    given = document.get(field, "")
    try:
        text = clean_text(given, multiline=multiline)
    except BenchmarksError as error:
        error.field = field
        raise
    text = text.replace("\r\n", "\n").strip() if multiline else collapse(text)
    if len(text) > most:
        raise _refused(field, Sentence("Send at most {most:,} characters.", most=most))
    return text


def _refuse_known(field: str, name: str) -> None:
    """An own tool that is called like one that everybody has would hide it."""
    for tool in tools.TOOLS.values():
        if folded(name) in map(folded, tool.names):
            raise _refused(
                field,
                Sentence(
                    '"{name}" is the tool {title} that Virtlab knows: upload its'
                    " output, or choose another name.",
                    name=name,
                    title=tool.title,
                ),
            )


def _refused(field: str, sentence: str) -> InvalidError:
    return InvalidError("declaration", sentence).at(field)
