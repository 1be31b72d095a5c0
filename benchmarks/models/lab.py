"""Labs, their people, their agents and the tokens agents carry."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from benchmarks import sight


class Lab(models.Model):
    """A group that measures and publishes; everything stored belongs to one."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    needs_second_factor = models.BooleanField(default=False)
    """Whether its members sign in with more than a password."""

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's place in a lab."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        MAINTAINER = "maintainer"
        ADMIN = "admin"

    KEEPERS = (Role.MAINTAINER, Role.ADMIN)
    """The roles that may change what a lab has: uploads, decisions about flags."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=20, choices=Role)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "user"], name="person_has_one_role_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}, {self.lab})"


class Agent(models.Model):
    """A program that uploads; its name outlives its tokens, so keys stay unique."""

    PERSONAL = "browser-"
    """How the names begin behind which people's own uploads stand."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="agents")
    name = models.SlugField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "name"], name="agent_name_is_unique_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Token(models.Model):
    """A secret an agent shows. Only its SHA-256 is stored; the prefix finds it."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="tokens")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    can_upload = models.BooleanField(default=False)
    can_read = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(can_upload=True) | models.Q(can_read=True),
                name="token_is_good_for_something",
            )
        ]

    def __str__(self) -> str:
        return f"vl_{self.prefix}_..."

    def is_valid(self) -> bool:
        """Neither revoked nor expired."""
        is_over = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_over


class Invitation(models.Model):
    """A link that gives one person a place in a lab, once. Only a digest is stored.

    ``prefix`` is not secret; ``name`` is the inviter's name for the person.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="invitations")
    name = models.CharField(max_length=200)
    role = models.CharField(max_length=20, choices=Membership.Role)
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.role}, {self.lab})"

    def is_open(self) -> bool:
        """Neither accepted nor withdrawn nor expired."""
        is_over = self.accepted_at or self.withdrawn_at
        return not is_over and self.expires_at > timezone.now()


class AuditEntry(models.Model):
    """Something done to a lab's people, tokens, tools, studies or publications.

    Immutable. ``who`` outlives the account, or names an agent.
    """

    class Kind(models.TextChoices):
        MADE_LAB = "made_lab"
        INVITED = "invited"
        WITHDREW = "withdrew"
        JOINED = "joined"
        CHANGED_ROLE = "changed_role"
        REMOVED = "removed"
        LEFT = "left"
        ISSUED = "issued"
        REVOKED = "revoked"
        CORRECTED_SESSION = "corrected_session"
        DECLARED_TOOL = "declared_tool"
        CHANGED_TOOL = "changed_tool"
        RETIRED_TOOL = "retired_tool"
        REVIVED_TOOL = "revived_tool"
        DELETED_TOOL = "deleted_tool"
        CHANGED_VISIBILITY = "changed_visibility"
        PUBLISHED = "published"
        SIGNED = "signed"
        WITHDREW_PUBLISHED = "withdrew_published"
        DELETED_STUDY = "deleted_study"
        DELETED_RUNS = "deleted_runs"
        DELETED_ACCOUNT = "deleted_account"
        IMPORTED = "imported"
        MADE_WEBHOOK = "made_webhook"
        DELETED_WEBHOOK = "deleted_webhook"
        CHANGED_WEBHOOK = "changed_webhook"
        LINKED_SIGN_IN = "linked_sign_in"
        UNLINKED_SIGN_IN = "unlinked_sign_in"
        SET_FACTOR = "set_factor"
        REMOVED_FACTOR = "removed_factor"
        RESET_FACTOR = "reset_factor"
        USED_RECOVERY_CODE = "used_recovery_code"
        CHANGED_SIGN_IN = "changed_sign_in"
        RESET_PASSWORD = "reset_password"
        SET_DOI = "set_doi"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="audit_entries")
    kind = models.CharField(max_length=20, choices=Kind)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    about = models.CharField(max_length=300)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.who} {self.kind} {self.about}"

    @classmethod
    @sight.everything()
    def log(
        cls,
        lab: Lab,
        kind: Kind,
        about: str,
        *,
        person: User | None = None,
        agent: str = "",
    ) -> AuditEntry:
        """Store who did something; ``agent`` names who did it if no person did."""
        who = person.get_username() if person else agent
        return cls.objects.create(
            lab=lab, kind=kind, person=person, who=who, about=about[:300]
        )
