"""Labs, members, agents, tokens, invitations and the audit log."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from benchmarks import rls


class Lab(models.Model):
    """A group of people who measure and publish. All data belong to a lab."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    requires_second_factor = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        VIEWER = "viewer"
        MAINTAINER = "maintainer"
        ADMIN = "admin"

    EDITORS = (Role.MAINTAINER, Role.ADMIN)
    """Roles that may change the data of a lab, for example upload and decide about
    flags."""

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
    """A program that uploads results. Upload keys are unique per agent."""

    PERSONAL_PREFIX = "browser-"
    """Agents with this prefix represent people who upload in the browser."""

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


TOKEN_SCOPES: Final = ("upload", "read", "manage")


class Token(models.Model):
    """An API token of an agent. It is stored as a prefix to find it and the SHA-256 of
    its secret."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="tokens")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    bundle_key = models.CharField(max_length=200, blank=True, default="")
    """The key of its bundles, encrypted."""
    can_upload = models.BooleanField(default=False)
    can_read = models.BooleanField(default=False)
    can_manage = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(can_upload=True)
                | models.Q(can_read=True)
                | models.Q(can_manage=True),
                name="token_has_a_scope",
            )
        ]

    def __str__(self) -> str:
        return f"vl_{self.prefix}_..."

    @property
    def scopes(self) -> list[str]:
        return [scope for scope in TOKEN_SCOPES if getattr(self, f"can_{scope}")]

    def is_valid(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired


class Invitation(models.Model):
    """An invitation of one person to a lab, by a link that works once.

    Only a digest of the secret is stored; ``prefix``, which finds it, is not secret.
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
        is_closed = self.accepted_at or self.withdrawn_at
        return not is_closed and self.expires_at > timezone.now()


class AuditEntry(models.Model):
    """An entry of a lab's audit log. Immutable.

    ``actor`` is a name, which remains after the account is deleted.
    """

    class Kind(models.TextChoices):
        CREATED_LAB = "created_lab"
        INVITED_PERSON = "invited"
        WITHDREW_INVITATION = "withdrew"
        JOINED_LAB = "joined"
        CHANGED_ROLE = "changed_role"
        REMOVED_MEMBER = "removed"
        LEFT_LAB = "left"
        ISSUED_TOKEN = "issued"
        REVOKED_TOKEN = "revoked"
        CORRECTED_SESSION = "corrected_session"
        DECLARED_TOOL = "declared_tool"
        CHANGED_TOOL = "changed_tool"
        RETIRED_TOOL = "retired_tool"
        REVIVED_TOOL = "revived_tool"
        DELETED_TOOL = "deleted_tool"
        CHANGED_VISIBILITY = "changed_visibility"
        PUBLISHED = "published"
        SIGNED_VERSION = "signed"
        WITHDREW_PUBLICATION = "withdrew_published"
        DELETED_STUDY = "deleted_study"
        DELETED_RUNS = "deleted_runs"
        DELETED_ACCOUNT = "deleted_account"
        IMPORTED_BUNDLE = "imported"
        CREATED_WEBHOOK = "created_webhook"
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
    actor = models.CharField(max_length=150)
    about = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.actor} {self.kind} {self.about}"

    @classmethod
    @rls.allow_all()
    def log(
        cls,
        lab: Lab,
        kind: Kind,
        subject: str,
        *,
        person: User | None = None,
        agent: str = "",
    ) -> AuditEntry:
        """``agent`` is the actor if ``person`` is None."""
        actor = person.get_username() if person else agent
        return cls.objects.create(
            lab=lab, kind=kind, person=person, actor=actor, about=subject[:300]
        )
