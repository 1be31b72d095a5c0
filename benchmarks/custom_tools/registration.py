"""Validation and storage of a lab's own tools. The audit log records every change.

Changes and the processing of uploads lock the tool's row, so no result is stored by an
outdated version.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from benchmarks import tools, units
from benchmarks.custom_tools.declaration import (
    LAB_SEPARATOR,
    Declaration,
    DeclaredMetric,
    tool_from_declaration,
)
from benchmarks.custom_tools.lookup import clear_tool_cache, declared_tools, match_name
from benchmarks.errors import BenchmarksError, InvalidError, already_exists_error
from benchmarks.fingerprints import display_parameters
from benchmarks.models import (
    Agent,
    AuditEntry,
    Case,
    Cell,
    CustomTool,
    CustomToolVersion,
    Lab,
    Run,
)
from benchmarks.parsing.case_labels import case_label
from benchmarks.parsing.tool import Better, Component, normalize_name
from benchmarks.parsing.tool import MetricKind as NumberKind
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace
from benchmarks.work_classes import find_work_class

MAX_METRICS: Final = 50
MAX_SLUG: Final = 50
MAX_NAME: Final = 100
MAX_HOMEPAGE: Final = 300
MAX_DESCRIPTION: Final = 5_000
BETTER: Final[tuple[str, ...]] = get_args(Better)
COMPONENTS: Final[tuple[str, ...]] = get_args(Component)
METRIC_KINDS: Final[tuple[str, ...]] = get_args(NumberKind)
# Stored results depend on these.
IMMUTABLE_FIELDS: Final = ("unit", "better", "kind", "fixed_by_parameter")
_SLUG: Final = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+")

Actor = User | Agent
AuditKind = AuditEntry.Kind


@transaction.atomic
def declare_tool(
    *, lab: Lab, slug: str, declaration: Declaration, actor: Actor
) -> tuple[CustomTool, bool]:
    """Store a lab's tool; return it, and whether it is new.

    Raise ConflictError if the slug is used by another declaration, and InvalidError if
    the slug or title is the name of another tool.
    """
    # Serialize simultaneous declarations.
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    validate_tool_slug(slug)
    lab_tools = declared_tools(lab.slug)
    name = f"{lab.slug}{LAB_SEPARATOR}{slug}"
    if existing := lab_tools.get(name):
        _check_same_slug(slug, existing.declaration, declaration)
        return CustomTool.objects.select_related("lab").get(pk=existing.id), False
    for field, word in (("slug", slug), ("title", declaration.title)):
        if conflict := match_name(lab_tools.values(), word):
            raise _name_taken_error(field, word, conflict.slug)
    tool = CustomTool.objects.create(lab=lab, slug=slug, name=name)
    _add_version(tool, 1, declaration, actor)
    _log_change(tool, AuditKind.DECLARED_TOOL, actor, f"{declaration.title} ({name})")
    return tool, True


@transaction.atomic
def change_tool(
    *, tool: CustomTool, declaration: Declaration, actor: Actor
) -> tuple[CustomToolVersion, bool]:
    """Store a new version of a tool, unless the declaration is unchanged.

    Return the newest version, and whether it was added. Raise InvalidError if a metric
    with results would change its meaning, or the title names another tool.
    """
    tool = lock_tool(tool)
    lab_tools = declared_tools(tool.lab.slug)
    current = lab_tools[tool.name]
    if current.declaration == declaration:
        return tool.versions.get(number=current.version), False
    other_tools = [
        lab_tool for lab_tool in lab_tools.values() if lab_tool.id != tool.pk
    ]
    if conflict := match_name(other_tools, declaration.title):
        raise _name_taken_error("title", declaration.title, conflict.slug)
    check_compatible(current.declaration, declaration, measured_metrics(tool))
    version = _add_version(tool, current.version + 1, declaration, actor)
    _refresh_cases(tool, declaration)
    subject = f"{declaration.title} ({tool.name}, version {version.number})"
    _log_change(tool, AuditKind.CHANGED_TOOL, actor, subject)
    return version, True


@transaction.atomic
def retire_tool(
    *, tool: CustomTool, actor: Actor, is_retired: bool = True
) -> CustomTool:
    """Stop accepting uploads of a tool, or accept them again."""
    tool = lock_tool(tool)
    if (tool.retired_at is not None) != is_retired:
        tool.retired_at = timezone.now() if is_retired else None
        tool.save(update_fields=["retired_at"])
        _log_change(
            tool,
            AuditKind.RETIRED_TOOL if is_retired else AuditKind.REVIVED_TOOL,
            actor,
        )
    return tool


@transaction.atomic
def delete_tool(*, tool: CustomTool, actor: Actor) -> None:
    """Raise InvalidError if the tool has runs."""
    tool = lock_tool(tool)
    if has_runs(tool):
        raise InvalidError(
            "invalid_declaration",
            "{tool} cannot be deleted because it has runs that depend on this "
            "declaration. You can retire it instead.",
            tool=tool.slug,
        )
    # Cases of deleted runs.
    Case.objects.filter(tool=tool.name).delete()
    _log_change(tool, AuditKind.DELETED_TOOL, actor)
    tool.delete()


def lock_tool(tool: CustomTool) -> CustomTool:
    rows = CustomTool.objects.select_for_update(of=("self",)).select_related("lab")
    return rows.get(pk=tool.pk)


def lock_declarations(names: Iterable[str]) -> None:
    """Lock these tools until the transaction ends, so that their declarations stay."""
    rows = CustomTool.objects.filter(name__in=set(names)).order_by("pk")
    list(rows.select_for_update().values_list("pk"))


def has_runs(tool: CustomTool) -> bool:
    return Run.objects.filter(tool=tool.name).exists()


def measured_metrics(tool: CustomTool) -> set[str]:
    cells = Cell.objects.filter(case_id=OuterRef("pk"))
    measured = Case.objects.filter(Exists(cells), tool=tool.name)
    return set(measured.values_list("metric", flat=True))


def _add_version(
    tool: CustomTool, number: int, declaration: Declaration, actor: Actor
) -> CustomToolVersion:
    return tool.versions.create(
        number=number,
        person=actor if isinstance(actor, User) else None,
        declared_by=_name(actor),
        **declaration.row_fields,
    )


def _refresh_cases(tool: CustomTool, declaration: Declaration) -> None:
    current_tool = tool_from_declaration(tool.name, declaration)
    metrics = {metric.name: metric for metric in current_tool.metrics}
    cases = list(Case.objects.filter(tool=tool.name, metric__in=metrics))
    for case in cases:
        metric = metrics[case.metric]
        case.unit, case.better = metric.unit, metric.better
        case.component = metric.component
        case.label = case_label(current_tool, metric, case.parameters)
    Case.objects.bulk_update(cases, ["unit", "better", "component", "label"])


def _log_change(
    tool: CustomTool, kind: AuditEntry.Kind, actor: Actor, subject: str = ""
) -> None:
    AuditEntry.log(
        tool.lab,
        kind,
        subject or tool.name,
        person=actor if isinstance(actor, User) else None,
        agent=_name(actor),
    )
    # Cached pages depend on the tools of their lab.
    CustomTool.objects.filter(pk=tool.pk).update(changed_at=timezone.now())
    clear_tool_cache()
    transaction.on_commit(clear_tool_cache)


def _name(actor: Actor) -> str:
    return actor.get_username() if isinstance(actor, User) else actor.name


def _check_same_slug(slug: str, old: Declaration, new: Declaration) -> None:
    before, after = old.row_fields, new.row_fields
    if differing := [name for name in after if before[name] != after[name]]:
        raise already_exists_error(
            "custom_tool_exists",
            Sentence("tool"),
            slug,
            differing,
            Sentence(
                "Send the changes as a new version: POST "
                "/api/v1/custom-tools/<id>/versions/."
            ),
        )


def _name_taken_error(field: str, word: str, slug: str) -> InvalidError:
    return InvalidError(
        "invalid_declaration",
        '"{word}" is already a name of your tool {slug}. Choose another one.',
        word=word,
        slug=slug,
    ).for_field(field)


def validate_tool_slug(slug: str) -> str:
    if len(slug) > MAX_SLUG or not _SLUG.fullmatch(slug):
        raise _declaration_error(
            "slug",
            Sentence(
                "A tool's slug consists of lowercase letters a-z and digits, "
                "separated by single - or _ (example: boot-time), with at most "
                "{most} characters.",
                most=MAX_SLUG,
            ),
        )
    _check_not_builtin("slug", slug)
    return slug


def read_declaration(document: Mapping[str, Any]) -> Declaration:
    """Normalize names and units. Raise InvalidError for invalid values."""
    title = _text(document, "title", MAX_NAME)
    if not title:
        raise _declaration_error("title", Sentence("Enter a title for the tool."))
    if LAB_SEPARATOR in title:
        raise _declaration_error(
            "title",
            Sentence(
                "A tool's title cannot contain a colon, because a "
                "colon separates lab and tool."
            ),
        )
    _check_not_builtin("title", title)
    homepage = _text(document, "homepage", MAX_HOMEPAGE)
    if homepage and not _ADDRESS.fullmatch(homepage):
        raise _declaration_error(
            "homepage",
            Sentence("Send a URL that begins with https:// or http://."),
        )
    return Declaration(
        title=title,
        homepage=homepage,
        description=_text(document, "description", MAX_DESCRIPTION, multiline=True),
        metrics=_metrics(document["metrics"]),
    )


def check_compatible(
    old: Declaration, new: Declaration, measured: Collection[str]
) -> None:
    """Raise InvalidError if a metric in ``measured`` (with results) would change its
    meaning."""
    before = {metric.name: metric for metric in old.metrics}
    after = {normalize_name(metric.name): metric for metric in new.metrics}
    for name in sorted(measured):
        old_metric, new_metric = before[name], after.get(normalize_name(name))
        if new_metric is None or new_metric.name != name:
            raise _declaration_error(
                "metrics",
                Sentence(
                    '"{metric}" has results, so the tool must keep it under this '
                    "name. Uploads need not include it.",
                    metric=name,
                ),
            )
        words = {
            "unit": Sentence("unit"),
            "better": Sentence("direction"),
            "kind": Sentence("kind of number"),
            "fixed_by_parameter": Sentence("parameter that fixes the value"),
        }
        for field in IMMUTABLE_FIELDS:
            if getattr(old_metric, field) != getattr(new_metric, field):
                raise _declaration_error(
                    "metrics",
                    Sentence(
                        '"{metric}" has results, so its {property} cannot change.'
                        " Declare a new metric under another name.",
                        metric=name,
                        property=words[field],
                    ),
                )
        if old_metric.allows_zero and not new_metric.allows_zero:
            raise _declaration_error(
                "metrics",
                Sentence(
                    '"{metric}" has results that may be 0, so 0 must remain allowed.',
                    metric=name,
                ),
            )


def _metrics(documents: Sequence[Mapping[str, Any]]) -> tuple[DeclaredMetric, ...]:
    if not 0 < len(documents) <= MAX_METRICS:
        raise _declaration_error(
            "metrics",
            Sentence("A tool must have 1 to {most} metrics.", most=MAX_METRICS),
        )
    metrics: list[DeclaredMetric] = []
    for index, document in enumerate(documents):
        try:
            metrics.append(_metric(document))
        except BenchmarksError as error:
            error.field = ".".join(filter(None, (f"metrics[{index}]", error.field)))
            raise
    names = [normalize_name(metric.name) for metric in metrics]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise _declaration_error(
                f"metrics[{index}].name",
                Sentence(
                    'Two metrics have the name "{name}".', name=metrics[index].name
                ),
            )
    if not any(metric.is_primary for metric in metrics):
        raise _declaration_error(
            "metrics",
            Sentence(
                "Mark at least one metric as primary. Profiles and corrections for "
                "multiple tests use only primary metrics."
            ),
        )
    return tuple(metrics)


def _metric(document: Mapping[str, Any]) -> DeclaredMetric:
    name = _text(document, "name", MAX_NAME)
    if not name:
        raise _declaration_error("name", Sentence("A metric needs a name."))
    for field, allowed in (("better", BETTER), ("component", COMPONENTS)):
        if document.get(field) not in allowed:
            raise _declaration_error(
                field, Sentence("Send one of {known}.", known=", ".join(allowed))
            )
    try:
        unit = units.get_unit(document["unit"]).symbol
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
        fixed_by_parameter=_parameter(document.get("fixed_by_parameter", "")),
        allows_zero=document.get("allows_zero", False),
        is_primary=document.get("is_primary", False),
    )


def _work_class(name: str) -> str:
    try:
        return find_work_class(name).slug if name else ""
    except ValueError as error:
        raise _declaration_error("work_class", str(error)) from None


def _kind(name: str) -> str:
    if name and name not in METRIC_KINDS:
        raise _declaration_error(
            "kind", Sentence("Send one of {known}.", known=", ".join(METRIC_KINDS))
        )
    return name


def _parameter(name: str) -> str:
    try:
        [key] = display_parameters({name: "1"}) if normalize_whitespace(name) else [""]
    except BenchmarksError as error:
        error.field = "fixed_by_parameter"
        raise
    return key


def _text(
    document: Mapping[str, Any], field: str, limit: int, *, multiline: bool = False
) -> str:
    value = document.get(field, "")
    try:
        text = clean_text(value, multiline=multiline)
    except BenchmarksError as error:
        error.field = field
        raise
    text = (
        text.replace("\r\n", "\n").strip() if multiline else normalize_whitespace(text)
    )
    if len(text) > limit:
        raise _declaration_error(
            field, Sentence("Send at most {most:,} characters.", most=limit)
        )
    return text


def _check_not_builtin(field: str, name: str) -> None:
    for tool in tools.TOOLS.values():
        if normalize_name(name) in map(normalize_name, tool.names):
            raise _declaration_error(
                field,
                Sentence(
                    '"{name}" is the name of the built-in tool {title}. Upload '
                    "its output, or choose another name.",
                    name=name,
                    title=tool.title,
                ),
            )


def _declaration_error(field: str, sentence: str) -> InvalidError:
    return InvalidError("invalid_declaration", sentence).for_field(field)
