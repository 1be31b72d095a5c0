"""What is made of a study to be kept: versions, reports, and the jobs that make them.

A version is what a study said on a day, published to be cited for ever. A
report is kept as long as it would say the same. Both are long in the making.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import models
from django.db.models import Exists, Q
from django.utils import timezone

from benchmarks.models.job import Job
from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, hidden_quotes, visible_studies
from benchmarks.viewer import Viewer


class VersionQuerySet(models.QuerySet["Version"]):
    """Versions, scoped: seen by whoever sees their study and what their files quote."""

    def visible_to(self, viewer: Viewer) -> "VersionQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(hidden_quotes(Version.quotes.through, "version_id", viewer))
        )


class Version(models.Model):
    """A study as it was: its files never change, its address never goes.

    ``judged`` is the level the rules gave it (``rule_set``), ``digest`` a SHA-256 over
    the digests of its files, ``product_version`` the product that wrote them.
    ``licence`` keeps what was answered about licences that restrict publishing,
    ``quotes`` the other studies of which its files say values, ``declarations`` what
    labs declared of their own tools when it was judged: a trigger of the database
    refuses to change these. One that turned out wrong is withdrawn with a reason; it
    is not deleted.
    """

    class Licence(models.TextChoices):
        FREE = "free"
        PERMITTED = "permitted"

    # Protected, both: what is cited cannot go with its lab or study.
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="versions")
    study = models.ForeignKey(Study, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=300)
    published_at = models.DateTimeField(default=timezone.now)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    published_by = models.CharField(max_length=150)
    product_version = models.CharField(max_length=50)
    rule_set = models.PositiveSmallIntegerField()
    judged = models.CharField(max_length=10)
    undisclosed = models.JSONField(default=dict)
    declarations = models.JSONField(default=list)
    licence = models.CharField(max_length=10, choices=Licence)
    licence_note = models.TextField(blank=True)
    quotes = models.ManyToManyField(Study, related_name="+")
    digest = models.CharField(max_length=64, blank=True)
    doi = models.CharField(max_length=200, blank=True)
    """Where it was registered elsewhere: entered later, by an admin."""
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawn_reason = models.TextField(blank=True)

    objects = VersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "number"], name="version_number_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(withdrawn_reason=""),
                name="version_is_withdrawn_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.number}"

    @property
    def level(self) -> str:
        """Its level: a lab's becomes verified when a reviewer of another lab signs."""
        # Not exists(): lists have fetched the signatures already.
        may_be_signed = self.judged in ("lab", "reproduced")
        is_signed = may_be_signed and bool(self.signatures.all())
        return "verified" if is_signed else self.judged


class VersionFile(models.Model):
    """One form of a version. A trigger of the database refuses to change it."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    form = models.CharField(max_length=10)
    content = models.BinaryField()
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "form"], name="version_has_each_form_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.form}"


class Signature(models.Model):
    """A reviewer of another lab stands for a version, and says what was looked at."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="signatures")
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="signatures")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    note = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "lab"], name="lab_signs_a_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.who} for {self.version}"


class Making(models.Model):
    """Something long in the making, by a `Job` of its own.

    ``site`` is the address under which it was asked for; ``stage`` says how far it is.
    """

    class Stage(models.TextChoices):
        WAITING = "waiting"
        COLLECTING = "collecting"
        TYPESETTING = "typesetting"
        DONE = "done"
        FAILED = "failed"

    jobs: Sequence[Job] = ()
    """With which a worker has it in hand."""
    UNFINISHED = (Stage.WAITING, Stage.COLLECTING, Stage.TYPESETTING)

    site = models.CharField(max_length=300)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.WAITING)
    requested_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_unfinished(self) -> bool:
        return self.stage in self.UNFINISHED


class Report(Making):
    """A study's report as a file, for one reader.

    ``stamp`` is a digest of all that it says and of whom it says it to: a study that
    changed has another one.
    """

    # Without a constraint in the database: to note one, PostgreSQL would wait for the
    # study's row, which the check of a wide study holds for a while.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="reports"
    )
    stamp = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "stamp"], name="report_is_made_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"


class PublishingJob(Making):
    """A version that somebody asked for, of the study as it was then.

    ``data_version`` is what the study was then: what changed since is not
    published unseen. ``problem`` is why it failed.
    """

    # Without a constraint in the database, as reports: to ask must not wait for the
    # study's row, which the check of a wide study holds for a while.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="publishing_jobs"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    licence = models.CharField(max_length=10, choices=Version.Licence)
    licence_note = models.TextField(blank=True)
    data_version = models.TextField()
    problem = SentenceField(blank=True)
    version = models.OneToOneField(
        Version, models.CASCADE, null=True, blank=True, related_name="publishing"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study"],
                condition=models.Q(stage__in=["waiting", "collecting", "typesetting"]),
                name="version_is_published_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"
