"""The stored domain; docs/data.md draws it."""

from benchmarks.models.cell import Case, Cell, CellSession, Efficiency
from benchmarks.models.collaboration import (
    Comment,
    Delivery,
    Digest,
    EarlierText,
    Event,
    FeedToken,
    Follow,
    Letter,
    SavedView,
    StudyNews,
    Webhook,
)
from benchmarks.models.effect import Effect, EffectSummary, PublicEvidence, StudyRollup
from benchmarks.models.flag import Decision, Flag
from benchmarks.models.job import Job
from benchmarks.models.lab import Agent, AuditEntry, Invitation, Lab, Membership, Token
from benchmarks.models.own_tool import OwnTool, OwnToolVersion
from benchmarks.models.picture import Picture
from benchmarks.models.plan import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.models.power import Meter, PowerChunk, RunEnergy, RunWindow
from benchmarks.models.review import Review, ReviewedStudy, ReviewFile
from benchmarks.models.run import Reread, Run, RunMean, RunOutput, Sample
from benchmarks.models.study import CoRun, Host, Session, Study, System
from benchmarks.models.version import (
    Making,
    PublishingJob,
    Report,
    Signature,
    Version,
    VersionFile,
)

__all__ = [
    "Agent",
    "AuditEntry",
    "Case",
    "Cell",
    "CellSession",
    "CoRun",
    "Comment",
    "Decision",
    "Delivery",
    "Digest",
    "EarlierText",
    "Effect",
    "EffectSummary",
    "Efficiency",
    "Event",
    "FeedToken",
    "Flag",
    "Follow",
    "Host",
    "Invitation",
    "Job",
    "Lab",
    "Letter",
    "Making",
    "Membership",
    "Meter",
    "OwnTool",
    "OwnToolVersion",
    "Picture",
    "Plan",
    "PlanPart",
    "PlanSlot",
    "PlanStep",
    "PowerChunk",
    "PublicEvidence",
    "PublishingJob",
    "Report",
    "Reread",
    "Review",
    "ReviewFile",
    "ReviewedStudy",
    "Run",
    "RunEnergy",
    "RunMean",
    "RunOutput",
    "RunWindow",
    "Sample",
    "SavedView",
    "Session",
    "Signature",
    "Study",
    "StudyNews",
    "StudyRollup",
    "System",
    "Token",
    "Version",
    "VersionFile",
    "Webhook",
]
