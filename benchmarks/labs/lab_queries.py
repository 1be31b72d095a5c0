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
    FlagDecision,
    Host,
    Invitation,
    Lab,
    Membership,
    Reparse,
    Run,
    Study,
    Token,
)
from benchmarks.sentences import Sentence
from benchmarks.studies.lookup import list_studies
from benchmarks.viewer import Viewer

MAX_AUDIT_LINES = 200
MAX_REPARSES = 50
CHECKSUM_DIGITS = 12


@dataclass(frozen=True)
class LastRun:
    host: str
    system: str
    received_at: datetime
    agent_checksum: str
    python: str


@dataclass(frozen=True)
class AuditLine:
    created_at: datetime
    actor: str
    kind: str
    about: str
    study: Study | None = None


def _visible_labs(viewer: Viewer) -> QuerySet[Lab]:
    studies = Study.objects.visible_to(viewer).filter(lab=OuterRef("pk"))
    visible = Lab.objects.filter(Exists(studies) | Q(pk__in=viewer.lab_ids))
    return visible.order_by("name")


def labs_with_counts(viewer: Viewer) -> QuerySet[Lab]:
    # order_by(): Django would add the ordering to GROUP BY.
    visible = list_studies(viewer).filter(lab=OuterRef("pk")).order_by().values("lab")
    count = Subquery(visible.annotate(count=Count("pk")).values("count"))
    return _visible_labs(viewer).annotate(studies_count=Coalesce(count, 0))


def find_lab(viewer: Viewer, slug: str) -> Lab:
    lab = _visible_labs(viewer).filter(slug=slug).first()
    if lab is None:
        raise NotFoundError(Sentence("lab"), slug)
    return lab


def lab_hosts(lab: Lab) -> QuerySet[Host]:
    return lab.hosts.annotate(systems_count=Count("systems")).order_by("slug")


def lab_members(lab: Lab) -> QuerySet[Membership]:
    memberships = lab.memberships.select_related("user")
    return memberships.order_by("role", "user__username")


def open_invitations(lab: Lab, now: datetime) -> QuerySet[Invitation]:
    return lab.invitations.filter(
        accepted_at=None, withdrawn_at=None, expires_at__gt=now
    ).order_by("-pk")


def agents_of(lab_ids: frozenset[int]) -> QuerySet[Agent]:
    """Return the agents of labs, with their tokens and the time of last use.

    Agents that represent people are left out.
    """
    return (
        Agent.objects.filter(lab__in=lab_ids)
        .exclude(name__startswith=Agent.PERSONAL_PREFIX)
        .select_related("lab")
        .annotate(last_seen_at=Max("tokens__last_used_at"))
        .prefetch_related(Prefetch("tokens", Token.objects.order_by("-pk")))
    )


def lab_agents(lab: Lab) -> list[tuple[Agent, LastRun | None]]:
    agents = list(agents_of(frozenset({lab.pk})).order_by("name"))
    runs = last_runs(agents)
    return [(agent, runs.get(agent.pk)) for agent in agents]


def last_runs(agents: list[Agent]) -> dict[int, LastRun]:
    last = Run.objects.filter(agent=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    annotated = Agent.objects.filter(pk__in=[agent.pk for agent in agents])
    numbers = annotated.annotate(last=Subquery(last)).values("last")
    runs = Run.objects.filter(pk__in=numbers).select_related("system__host")
    last_of: dict[int, LastRun] = {}
    for run in runs:
        # Facts are unvalidated JSON.
        agent = run.facts.get("agent")
        agent_facts = agent if isinstance(agent, dict) else {}
        last_of[run.agent_id] = LastRun(
            host=run.system.host.slug,
            system=run.system.label,
            received_at=run.received_at,
            agent_checksum=str(agent_facts.get("sha256", ""))[:CHECKSUM_DIGITS],
            python=str(agent_facts.get("python", ""))[:20],
        )
    return last_of


def lab_audit_log(lab: Lab) -> list[AuditLine]:
    """Return a lab's newest audit entries, flag decisions and reparses, in order.

    The newest comes first.
    """
    entries = AuditEntry.objects.filter(lab=lab).order_by("-pk")
    decisions = FlagDecision.objects.filter(flag__lab=lab).order_by("-pk")
    decisions = decisions.select_related("flag__study__lab")
    rereads = Reparse.objects.filter(study__lab=lab).exclude(person=None)
    rereads = rereads.select_related("person", "study__lab").order_by("-pk")
    lines = [
        AuditLine(entry.created_at, entry.actor, entry.kind, entry.about)
        for entry in entries[:MAX_AUDIT_LINES]
    ]
    lines += [
        AuditLine(row.decided_at, row.decided_by, row.status, row.note, row.flag.study)
        for row in decisions[:MAX_AUDIT_LINES]
    ]
    lines += [
        AuditLine(row.created_at, row.person.get_username(), "reread", "", row.study)
        for row in rereads[:MAX_REPARSES]
        if row.person is not None
    ]
    return sorted(lines, key=lambda line: line.created_at, reverse=True)[
        :MAX_AUDIT_LINES
    ]
