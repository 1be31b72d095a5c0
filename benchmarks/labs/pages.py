"""Labs as their pages show them: studies, machines, agents, people, audit log."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import (
    Count,
    Exists,
    Max,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce

from benchmarks.errors import NotFoundError
from benchmarks.models import (
    Agent,
    AuditEntry,
    Decision,
    Host,
    Invitation,
    Lab,
    Membership,
    Reread,
    Run,
    Study,
    Token,
)
from benchmarks.sentences import Sentence
from benchmarks.studies.lookup import visible
from benchmarks.viewer import Viewer

ENTRIES_AT_MOST = 200
REREADS_AT_MOST = 50
CHECKSUM_DIGITS = 12


@dataclass(frozen=True)
class LastRun:
    """Where an agent measured last, and which agent it was by its own account."""

    host: str
    system: str
    at: datetime
    version: str
    python: str


@dataclass(frozen=True)
class AuditLine:
    """What somebody did, whatever table keeps it."""

    at: datetime
    who: str
    kind: str
    about: str
    study: Study | None = None


def _visible_labs(viewer: Viewer) -> QuerySet[Lab]:
    """Return the labs with a visible study, and those of the viewer."""
    studies = Study.objects.visible_to(viewer).filter(lab=OuterRef("pk"))
    seen = Lab.objects.filter(Exists(studies) | Q(pk__in=viewer.lab_ids))
    return seen.order_by("name")


def labs_with_counts(viewer: Viewer) -> QuerySet[Lab]:
    """Return the visible labs with how many studies of each the viewer sees."""
    # Without the order of `visible`, by which Django would group as well.
    seen = visible(viewer).filter(lab=OuterRef("pk")).order_by().values("lab")
    count = Subquery(seen.annotate(count=Count("pk")).values("count"))
    return _visible_labs(viewer).annotate(studies_count=Coalesce(count, 0))


def find_lab(viewer: Viewer, slug: str) -> Lab:
    """Return a lab that the viewer may know of, or raise NotFoundError."""
    lab = _visible_labs(viewer).filter(slug=slug).first()
    if lab is None:
        raise NotFoundError(Sentence("lab"), slug)
    return lab


def lab_hosts(lab: Lab) -> QuerySet[Host]:
    """Return a lab's machines with how many systems were measured on each."""
    return lab.hosts.annotate(systems_count=Count("systems")).order_by("slug")


def lab_members(lab: Lab) -> QuerySet[Membership]:
    """Return the places of a lab, those who may most first."""
    places = lab.memberships.select_related("user")
    return places.order_by("role", "user__username")


def open_invitations(lab: Lab, now: datetime) -> QuerySet[Invitation]:
    """Return the links that still work."""
    return lab.invitations.filter(
        accepted_at=None, withdrawn_at=None, expires_at__gt=now
    ).order_by("-pk")


def agents_of(lab_ids: frozenset[int]) -> QuerySet[Agent]:
    """Return the agents of labs, without people's own, with tokens and last use."""
    return (
        Agent.objects.filter(lab__in=lab_ids)
        .exclude(name__startswith=Agent.PERSONAL)
        .select_related("lab")
        .annotate(last_seen_at=Max("tokens__last_used_at"))
        .prefetch_related(Prefetch("tokens", Token.objects.order_by("-pk")))
    )


def lab_agents(lab: Lab) -> list[tuple[Agent, LastRun | None]]:
    """Return a lab's agents by name, each with its last run if it has one."""
    agents = list(agents_of(frozenset({lab.pk})).order_by("name"))
    runs = last_runs(agents)
    return [(agent, runs.get(agent.pk)) for agent in agents]


def last_runs(agents: list[Agent]) -> dict[int, LastRun]:
    """Return the last run of each agent that has one, in one query."""
    last = Run.objects.filter(agent=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    wanted = Agent.objects.filter(pk__in=[agent.pk for agent in agents])
    numbers = wanted.annotate(last=Subquery(last)).values("last")
    runs = Run.objects.filter(pk__in=numbers).select_related("system__host")
    last_of: dict[int, LastRun] = {}
    for run in runs:
        # Facts are whatever an uploader sent.
        agent = run.facts.get("agent")
        stated = agent if isinstance(agent, dict) else {}
        last_of[run.agent_id] = LastRun(
            host=run.system.host.slug,
            system=run.system.label,
            at=run.received_at,
            version=str(stated.get("sha256", ""))[:CHECKSUM_DIGITS],
            python=str(stated.get("python", ""))[:20],
        )
    return last_of


def lab_audit_log(lab: Lab) -> list[AuditLine]:
    """Return what people did in a lab, newest first: people, tokens, flags, rereads."""
    entries = AuditEntry.objects.filter(lab=lab).order_by("-pk")
    decisions = Decision.objects.filter(flag__lab=lab).order_by("-pk")
    decisions = decisions.select_related("flag__study__lab")
    rereads = Reread.objects.filter(study__lab=lab).exclude(person=None)
    rereads = rereads.select_related("person", "study__lab").order_by("-pk")
    lines = [
        AuditLine(entry.at, entry.who, entry.kind, entry.about)
        for entry in entries[:ENTRIES_AT_MOST]
    ]
    lines += [
        AuditLine(row.at, row.who, row.status, row.note, row.flag.study)
        for row in decisions[:ENTRIES_AT_MOST]
    ]
    lines += [
        AuditLine(row.created_at, row.person.get_username(), "reread", "", row.study)
        for row in rereads[:REREADS_AT_MOST]
        if row.person is not None
    ]
    return sorted(lines, key=lambda line: line.at, reverse=True)[:ENTRIES_AT_MOST]
