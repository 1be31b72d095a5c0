"""Check, store, change, retire and delete a lab's own tools; each is in the audit log.

A change is a new version. It takes the tool's row, as who reads uploads by it does:
no result is ever stored by a version that is not the newest any more.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from benchmarks import tools, units
from benchmarks.errors import BenchmarksError, InvalidError, exists_otherwise
from benchmarks.fingerprints import display_parameters
from benchmarks.models import (
    Agent,
    AuditEntry,
    Case,
    Cell,
    Lab,
    OwnTool,
    OwnToolVersion,
    Run,
)
from benchmarks.own_tools.declaration import (
    BETWEEN,
    Declaration,
    DeclaredMetric,
    tool_of,
)
from benchmarks.own_tools.lookup import declared_tools, forget, named
from benchmarks.parsing.cases import case_label
from benchmarks.parsing.contract import Better, Component, folded
from benchmarks.parsing.contract import Kind as NumberKind
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse
from benchmarks.work_classes import work_class

MAX_METRICS: Final = 50
MAX_SLUG: Final = 50
MAX_NAME: Final = 100
MAX_HOMEPAGE: Final = 300
MAX_DESCRIPTION: Final = 5_000
BETTER: Final[tuple[str, ...]] = get_args(Better)
COMPONENTS: Final[tuple[str, ...]] = get_args(Component)
KINDS: Final[tuple[str, ...]] = get_args(NumberKind)
# What results already stored were read by: none of it can become another thing.
LASTING: Final = ("unit", "better", "kind", "fixed_by")
_SLUG: Final = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+")

Author = User | Agent
Kind = AuditEntry.Kind


@transaction.atomic
def declare_tool(
    *, lab: Lab, slug: str, declaration: Declaration, by: Author
) -> tuple[OwnTool, bool]:
    """Store a tool of a lab; declaring the same again changes nothing.

    Raises ConflictError when the slug is taken by one that differs, and
    InvalidError when its slug or title is another tool's name.
    """
    # Two that declare at once wait here for each other.
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    checked_slug(slug)
    own = declared_tools(lab.slug)
    name = f"{lab.slug}{BETWEEN}{slug}"
    if known := own.get(name):
        _refuse_other(slug, known.declaration, declaration)
        return OwnTool.objects.select_related("lab").get(pk=known.id), False
    for field, word in (("slug", slug), ("title", declaration.title)):
        if taken := named(own.values(), word):
            raise _taken(field, word, taken.slug)
    tool = OwnTool.objects.create(lab=lab, slug=slug, name=name)
    _add_version(tool, 1, declaration, by)
    _note(tool, Kind.DECLARED_TOOL, by, f"{declaration.title} ({name})")
    return tool, True


@transaction.atomic
def change_tool(
    *, tool: OwnTool, declaration: Declaration, by: Author
) -> tuple[OwnToolVersion, bool]:
    """Store a new version; an unchanged declaration is the newest one.

    Raises InvalidError where a metric that has results would become another.
    """
    tool = locked(tool)
    own = declared_tools(tool.lab.slug)
    current = own[tool.name]
    if current.declaration == declaration:
        return tool.versions.get(number=current.version), False
    others = [each for each in own.values() if each.id != tool.pk]
    if taken := named(others, declaration.title):
        raise _taken("title", declaration.title, taken.slug)
    refuse_changes(current.declaration, declaration, measured_metrics(tool))
    version = _add_version(tool, current.version + 1, declaration, by)
    _refresh_cases(tool, declaration)
    about = f"{declaration.title} ({tool.name}, version {version.number})"
    _note(tool, Kind.CHANGED_TOOL, by, about)
    return version, True


@transaction.atomic
def retire_tool(*, tool: OwnTool, by: Author, is_retired: bool = True) -> OwnTool:
    """Take no new uploads of a tool, or take them again."""
    tool = locked(tool)
    if (tool.retired_at is not None) != is_retired:
        tool.retired_at = timezone.now() if is_retired else None
        tool.save(update_fields=["retired_at"])
        _note(tool, Kind.RETIRED_TOOL if is_retired else Kind.REVIVED_TOOL, by)
    return tool


@transaction.atomic
def delete_tool(*, tool: OwnTool, by: Author) -> None:
    """Delete a tool that was never measured with; raises InvalidError otherwise."""
    tool = locked(tool)
    if has_results(tool):
        raise InvalidError(
            "declaration",
            "There are runs of {tool}, and their meaning is declared here: it"
            " can be retired, not deleted.",
            tool=tool.slug,
        )
    # What a metric was called whose runs are gone.
    Case.objects.filter(tool=tool.name).delete()
    _note(tool, Kind.DELETED_TOOL, by)
    tool.delete()


def locked(tool: OwnTool) -> OwnTool:
    """Return the row, locked until this transaction ends."""
    rows = OwnTool.objects.select_for_update(of=("self",)).select_related("lab")
    return rows.get(pk=tool.pk)


def lock_tools(names: Iterable[str]) -> None:
    """Keep own tools as they are while uploads are read by them."""
    rows = OwnTool.objects.filter(name__in=set(names)).order_by("pk")
    list(rows.select_for_update().values_list("pk"))


def has_results(tool: OwnTool) -> bool:
    """Whether the tool has any run, read or not."""
    return Run.objects.filter(tool=tool.name).exists()


def measured_metrics(tool: OwnTool) -> set[str]:
    """Return the names of its metrics that have results."""
    cells = Cell.objects.filter(case_id=OuterRef("pk"))
    measured = Case.objects.filter(Exists(cells), tool=tool.name)
    return set(measured.values_list("metric", flat=True))


def _add_version(
    tool: OwnTool, number: int, declaration: Declaration, by: Author
) -> OwnToolVersion:
    return tool.versions.create(
        number=number,
        person=by if isinstance(by, User) else None,
        who=_name(by),
        **declaration.stored,
    )


def _refresh_cases(tool: OwnTool, declaration: Declaration) -> None:
    """Update cases: their labels, and what may still change."""
    known = tool_of(tool.name, declaration)
    metrics = {metric.name: metric for metric in known.metrics}
    cases = list(Case.objects.filter(tool=tool.name, metric__in=metrics))
    for case in cases:
        metric = metrics[case.metric]
        case.unit, case.better = metric.unit, metric.better
        case.component = metric.component
        case.label = case_label(known, metric, case.parameters)
    Case.objects.bulk_update(cases, ["unit", "better", "component", "label"])


def _note(tool: OwnTool, kind: AuditEntry.Kind, by: Author, about: str = "") -> None:
    AuditEntry.log(
        tool.lab,
        kind,
        about or tool.name,
        person=by if isinstance(by, User) else None,
        agent=_name(by),
    )
    # Pages are kept under what the rows of their study and its lab's tools are.
    OwnTool.objects.filter(pk=tool.pk).update(changed_at=timezone.now())
    forget()
    transaction.on_commit(forget)


def _name(by: Author) -> str:
    return by.get_username() if isinstance(by, User) else by.name


def _refuse_other(slug: str, old: Declaration, new: Declaration) -> None:
    before, after = old.stored, new.stored
    if differing := [name for name in after if before[name] != after[name]]:
        raise exists_otherwise(
            "own_tool_exists",
            Sentence("tool"),
            slug,
            differing,
            Sentence(
                "Send what changed as a new version:"
                " POST /api/v1/own-tools/<id>/versions/."
            ),
        )


def _taken(field: str, word: str, slug: str) -> InvalidError:
    return InvalidError(
        "declaration",
        '"{word}" is a name of your tool {slug} already. Choose another.',
        word=word,
        slug=slug,
    ).at(field)


def checked_slug(slug: str) -> str:
    """Return a slug that an own tool may have, or raise InvalidError."""
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
    """Return a document's declaration in its one spelling, or raise InvalidError.

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


def refuse_changes(
    old: Declaration, new: Declaration, measured: Collection[str]
) -> None:
    """Raise InvalidError if a metric in ``measured`` would mean another thing."""
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
    """Refuse the name of a tool that everybody has."""
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
