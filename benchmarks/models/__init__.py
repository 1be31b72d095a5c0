"""Database models; docs/data.md has the diagram."""

from benchmarks.models.cell import (
    Case,
    Cell,
    CellSession,
    Efficiency,
    RunFingerprint,
)
from benchmarks.models.collaboration import (
    Comment,
    CommentRevision,
    Delivery,
    Digest,
    Event,
    FeedToken,
    Follow,
    OutgoingEmail,
    SavedView,
    SearchMiss,
    StudyEventState,
    Webhook,
)
from benchmarks.models.custom_tool import CustomTool, CustomToolVersion
from benchmarks.models.effect import (
    Effect,
    EffectSummary,
    PublicEvidence,
    StudyRollup,
)
from benchmarks.models.flag import Flag, FlagDecision
from benchmarks.models.job import Job
from benchmarks.models.lab import Agent, AuditEntry, Invitation, Lab, Membership, Token
from benchmarks.models.plan import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.models.power import Meter, PowerChunk, RunEnergy, RunWindow
from benchmarks.models.publication import (
    ChartFile,
    GenerationRequest,
    Publication,
    PublishingJob,
    Report,
    Review,
    ReviewedStudy,
    ReviewFile,
    Signature,
    Version,
    VersionFile,
)
from benchmarks.models.run import Reparse, Run, RunMean, RunOutput, Sample
from benchmarks.models.study import CoRun, Host, Session, Study, System
