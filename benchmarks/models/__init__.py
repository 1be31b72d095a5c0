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
from benchmarks.models.plan import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.models.power import Meter, PowerChunk, RunEnergy, RunWindow
from benchmarks.models.publication import (
    Making,
    Picture,
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
from benchmarks.models.run import Reread, Run, RunMean, RunOutput, Sample
from benchmarks.models.study import CoRun, Host, Session, Study, System
