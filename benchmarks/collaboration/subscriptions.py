"""Email digests, followed studies, and secret feed URLs.

Digests contain the events that the reader can see when they are sent. Feed URLs contain
a secret, because feed readers cannot sign in.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from benchmarks import rls
from benchmarks.collaboration.study_events import visible_events
from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.labs.member_sign_in_methods import (
    lab_requiring_second_factor,
    verified_address,
)
from benchmarks.labs.tokens import find_by_secret, new_prefix, new_secret, secret_digest
from benchmarks.models import (
    Digest,
    Event,
    FeedToken,
    Follow,
    Membership,
    OutgoingEmail,
    Study,
)
from benchmarks.replica import from_primary
from benchmarks.sentences import Sentence, pluralized
from benchmarks.text_validation import normalize_whitespace
from benchmarks.viewer import ANYONE, Viewer

PERIODS: Final = {
    Digest.Frequency.DAY: timedelta(days=1),
    Digest.Frequency.WEEK: timedelta(days=7),
}
MAX_EVENTS: Final = 200
MAX_FOLLOWED: Final = 500
COMMIT_GRACE: Final = timedelta(seconds=30)
UNSUBSCRIBE_SALT: Final = "virtlab.unsubscribe"
FEED_PREFIX: Final = "vf_"
FEED_USE_RECORD_INTERVAL: Final = timedelta(hours=1)


def start_digest(person: User, every: str, labs: bool) -> None:
    """With ``labs``, digests also cover the person's labs."""
    period = PERIODS[Digest.Frequency(every)]
    digest, is_new = Digest.objects.get_or_create(
        person=person,
        defaults={
            "frequency": every,
            "includes_own_labs": labs,
            "due_at": timezone.now() + period,
            "last_event_id": last_settled_event_id(),
        },
    )
    if not is_new:
        due_at = min(digest.due_at, timezone.now() + period)
        digest.frequency, digest.includes_own_labs, digest.due_at = every, labs, due_at
        digest.save(update_fields=["frequency", "includes_own_labs", "due_at"])


def end_digest(person_id: int) -> bool:
    """Return whether there were any digests. Keep followed studies."""
    return bool(Digest.objects.filter(person=person_id).delete()[0])


def follow(person: User, study: Study) -> None:
    if Follow.objects.filter(person=person).count() >= MAX_FOLLOWED:
        raise InvalidError(
            "invalid_membership",
            "You already follow {n} studies. Unfollow one first.",
            n=MAX_FOLLOWED,
        )
    Follow.objects.get_or_create(person=person, study=study)


def followed_studies(person: User) -> QuerySet[Follow]:
    visible = Study.objects.visible_to(digest_viewer(person))
    rows = Follow.objects.filter(person=person, study__in=visible)
    return rows.select_related("study__lab").order_by("study__title", "pk")


def digest_viewer(person: User) -> Viewer:
    """Return the viewer of a person's digests.

    It can see only public studies while a required second factor is missing.
    """
    if lab_requiring_second_factor(person):
        return ANYONE
    labs = Membership.objects.filter(user=person).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))


def has_due_digests() -> bool:
    return Digest.objects.filter(due_at__lte=timezone.now()).exists()


def due_digest_emails() -> Iterator[OutgoingEmail]:
    """Move each due digest to its next date, and yield an unsaved email for it.

    No email is yielded if the person cannot be mailed or an earlier digest is waiting.
    The caller must store each email before it asks for the next, which ends the
    transaction.
    """
    now = timezone.now()
    for pk in list(Digest.objects.filter(due_at__lte=now).values_list("pk", flat=True)):
        with transaction.atomic():
            due = Digest.objects.select_for_update(skip_locked=True, of=("self",))
            digest = due.filter(pk=pk, due_at__lte=now).select_related("person").first()
            if digest is None:
                continue
            # One digest for all missed periods.
            digest.due_at = now + PERIODS[Digest.Frequency(digest.frequency)]
            digest.save(update_fields=["due_at"])
            address = verified_address(digest.person)
            kind, state = OutgoingEmail.Kind.DIGEST, OutgoingEmail.State.WAITING
            waiting_emails = OutgoingEmail.objects.filter(
                person=digest.person, kind=kind, state=state
            )
            if address and digest.person.is_active and not waiting_emails.exists():
                yield OutgoingEmail(kind=kind, address=address, person=digest.person)


def digest_text(person: User) -> tuple[str, str] | None:
    """Return subject and body; None without new events or without a digest."""
    digest = Digest.objects.filter(person=person).first()
    if digest is None:
        return None
    viewer = digest_viewer(person)
    condition = Q(study__in=Follow.objects.filter(person=person).values("study"))
    if digest.includes_own_labs:
        condition |= Q(study__lab__in=viewer.lab_ids)
    new_events = visible_events(
        viewer, pk__gt=digest.last_event_id, pk__lte=last_settled_event_id()
    )
    events = list(new_events.filter(condition).order_by("pk")[: MAX_EVENTS + 1])
    if not events:
        return None
    lines = [str(Sentence("Hello {name},", name=person.get_username())), ""]
    listed = events[:MAX_EVENTS]
    by_study: dict[int, tuple[Study, list[Event]]] = {}
    for event in listed:
        by_study.setdefault(event.study_id, (event.study, []))[1].append(event)
    for study, study_events in by_study.values():
        url = f"{settings.SITE_URL}/studies/{study.lab.slug}/{study.slug}/"
        lines += [normalize_whitespace(f"{study.title} ({study.lab.name})")]
        lines += [
            f"  {event.occurred_at:%Y-%m-%d}  {normalize_whitespace(event.message)}"
            for event in study_events
        ]
        lines += [f"  {url}", ""]
    if len(events) > MAX_EVENTS:
        lines += [str(Sentence("See the study pages for more.")), ""]
    link = unsubscribe_url(person.pk)
    footer = Sentence("You subscribed to this email. To unsubscribe: {link}", link=link)
    lines += ["-- ", str(footer)]
    subject = pluralized("{n} update", "{n} updates", n=len(listed))
    return subject, "\n".join(lines) + "\n"


def last_settled_event_id() -> int:
    """Return the newest id of events older than `COMMIT_GRACE`, or 0.

    By then, all events with smaller ids are committed.
    """
    settled = Event.objects.filter(occurred_at__lt=timezone.now() - COMMIT_GRACE)
    return settled.aggregate(newest=Max("pk"))["newest"] or 0


def record_digest_sent(person: User | None, last_event_id: int) -> None:
    """Store the last event that a digest covered, also for an empty one (not sent)."""
    Digest.objects.filter(person=person).update(last_event_id=last_event_id)


def unsubscribe_url(person_id: int | None) -> str:
    code = signing.dumps(person_id, salt=UNSUBSCRIBE_SALT)
    return f"{settings.SITE_URL}/unsubscribe/{code}/"


def person_id_from_code(code: str) -> int | None:
    try:
        return int(signing.loads(code, salt=UNSUBSCRIBE_SALT))
    except (signing.BadSignature, ValueError, TypeError):
        return None


def issue_feed_token(person: User) -> str:
    """Return a new secret, shown once; revoke earlier secrets."""
    revoke_feed_tokens(person)
    prefix, secret = new_prefix(), new_secret()
    FeedToken.objects.create(person=person, prefix=prefix, digest=secret_digest(secret))
    return f"{FEED_PREFIX}{prefix}_{secret}"


def revoke_feed_tokens(person: User) -> None:
    valid = FeedToken.objects.filter(person=person, revoked_at=None)
    valid.update(revoked_at=timezone.now())


def has_feed_token(person: User) -> bool:
    return FeedToken.objects.filter(person=person, revoked_at=None).exists()


@from_primary()  # to see revocations and store the use
def person_for_feed_token(secret: str) -> User:
    """Return the person of a feed secret and grant access to their labs.

    Raises NotFoundError if the secret is not valid or the person lacks a required
    second factor.
    """
    tokens = FeedToken.objects.select_related("person")
    token = find_by_secret(
        secret.removeprefix(FEED_PREFIX),
        lambda prefix: tokens.filter(prefix=prefix).first(),
    )
    if (
        token is None
        or token.revoked_at is not None
        or not token.person.is_active
        or lab_requiring_second_factor(token.person)
    ):
        raise NotFoundError(Sentence("feed"), "…")
    now = timezone.now()
    if (
        token.last_used_at is None
        or token.last_used_at < now - FEED_USE_RECORD_INTERVAL
    ):
        FeedToken.objects.filter(pk=token.pk).update(last_used_at=now)
    rls.allow_viewer(token.person_id)
    return token.person
