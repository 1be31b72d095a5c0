"""Declare a lab's own tool, change it, retire it, delete it; each is in the audit log.

A change is a new version. It takes the tool's row, as who reads uploads by it does:
no result is ever stored by a version that is not the newest any more.
"""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from benchmarks.errors import InvalidError, exists_otherwise
from benchmarks.labs.audit import log_action
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
    checked_slug,
    refuse_changes,
    tool_of,
)
from benchmarks.own_tools.lookup import declared_tools, forget, named
from benchmarks.parsing.labels import case_label
from benchmarks.sentences import Sentence

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
    """Store a new version; what the newest says already is that one.

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
    """Take no new uploads of a tool, or take them again; twice is the same as once."""
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
    """Return the row, which nobody else changes until this transaction ends."""
    rows = OwnTool.objects.select_for_update(of=("self",)).select_related("lab")
    return rows.get(pk=tool.pk)


def lock_tools(names: Iterable[str]) -> None:
    """Keep own tools as they are while uploads are read by them."""
    rows = OwnTool.objects.filter(name__in=set(names)).order_by("pk")
    list(rows.select_for_update().values_list("pk"))


def has_results(tool: OwnTool) -> bool:
    """Whether any run is of this tool, read or not."""
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
    """Let cases say what is declared now: their labels, and what may still change."""
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
    log_action(
        lab=tool.lab,
        person=by if isinstance(by, User) else None,
        agent=_name(by),
        kind=kind,
        about=about or tool.name,
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
