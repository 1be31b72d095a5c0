"""What is new, for one person: digests by mail, and secret addresses of feeds.

A digest is put together when it is sent, from the events that its reader may see then.
Feed readers cannot sign in, so the address of a feed contains a secret.
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

from benchmarks import sight
from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.labs.sign_ins import lab_that_waits_for, verified_address
from benchmarks.labs.tokens import digest, new_prefix, new_secret, row_of_secret
from benchmarks.models import (
    Digest,
    Event,
    FeedToken,
    Follow,
    Letter,
    Membership,
    Study,
)
from benchmarks.replica import from_primary
from benchmarks.sentences import Sentence, counted
from benchmarks.text import collapse
from benchmarks.together.events import visible_events
from benchmarks.viewer import ANYONE, Viewer

PERIODS: Final = {
    Digest.Every.DAY: timedelta(days=1),
    Digest.Every.WEEK: timedelta(days=7),
}
MOST_EVENTS: Final = 200
MOST_FOLLOWED: Final = 500
SETTLED_AFTER: Final = timedelta(seconds=30)
LEAVING_SALT: Final = "virtlab.unsubscribe"
FEED_PREFIX: Final = "vf_"
FEED_USE_IS_NOTED_EVERY: Final = timedelta(hours=1)


def ask_for_digest(person: User, every: str, labs: bool) -> None:
    """Tell somebody by mail from now on; what happened before is not told."""
    period = PERIODS[Digest.Every(every)]
    asked, is_new = Digest.objects.get_or_create(
        person=person,
        defaults={
            "every": every,
            "labs": labs,
            "due_at": timezone.now() + period,
            "told_until": newest(),
        },
    )
    if not is_new:
        due_at = min(asked.due_at, timezone.now() + period)
        asked.every, asked.labs, asked.due_at = every, labs, due_at
        asked.save(update_fields=["every", "labs", "due_at"])


def end_digest(person_id: int) -> bool:
    """Tell somebody nothing more by mail; what they follow is kept."""
    return bool(Digest.objects.filter(person=person_id).delete()[0])


def follow(person: User, study: Study) -> None:
    """Tell somebody of a study that they were found to see."""
    if Follow.objects.filter(person=person).count() >= MOST_FOLLOWED:
        raise InvalidError(
            "place", "You follow {n} studies. End one first.", n=MOST_FOLLOWED
        )
    Follow.objects.get_or_create(person=person, study=study)


def followed(person: User) -> QuerySet[Follow]:
    """Return what somebody follows and still sees."""
    seen = Study.objects.visible_to(reader(person))
    rows = Follow.objects.filter(person=person, study__in=seen)
    return rows.select_related("study__lab").order_by("study__title", "pk")


def reader(person: User) -> Viewer:
    """Return what somebody may read in a letter."""
    if lab_that_waits_for(person):
        return ANYONE
    labs = Membership.objects.filter(user=person).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))


def are_due() -> bool:
    """Return whether there is a digest to write now."""
    return Digest.objects.filter(due_at__lte=timezone.now()).exists()


def due_letters() -> Iterator[Letter]:
    """Yield a letter for each digest that is due, to be stored at once."""
    now = timezone.now()
    for pk in list(Digest.objects.filter(due_at__lte=now).values_list("pk", flat=True)):
        with transaction.atomic():
            due = Digest.objects.select_for_update(skip_locked=True, of=("self",))
            asked = due.filter(pk=pk, due_at__lte=now).select_related("person").first()
            if asked is None:
                continue
            # Not one for each day that nothing was sent on.
            asked.due_at = now + PERIODS[Digest.Every(asked.every)]
            asked.save(update_fields=["due_at"])
            address = verified_address(asked.person)
            kind, state = Letter.Kind.DIGEST, Letter.State.WAITING
            letters = Letter.objects.filter(person=asked.person, kind=kind, state=state)
            if address and asked.person.is_active and not letters.exists():
                yield Letter(kind=kind, address=address, person=asked.person)


def written(person: User) -> tuple[str, str] | None:
    """Return subject and text of what is new for somebody; None if nothing is."""
    asked = Digest.objects.filter(person=person).first()
    if asked is None:
        return None
    viewer = reader(person)
    wanted = Q(study__in=Follow.objects.filter(person=person).values("study"))
    if asked.labs:
        wanted |= Q(study__lab__in=viewer.lab_ids)
    news = visible_events(viewer, pk__gt=asked.told_until, pk__lte=newest())
    events = list(news.filter(wanted).order_by("pk")[: MOST_EVENTS + 1])
    if not events:
        return None
    lines = [str(Sentence("Hello {name},", name=person.get_username())), ""]
    shown = events[:MOST_EVENTS]
    by_study: dict[int, tuple[Study, list[Event]]] = {}
    for event in shown:
        by_study.setdefault(event.study_id, (event.study, []))[1].append(event)
    for study, told in by_study.values():
        place = f"{settings.SITE_URL}/studies/{study.lab.slug}/{study.slug}/"
        lines += [collapse(f"{study.title} ({study.lab.name})")]
        lines += [
            f"  {event.at:%Y-%m-%d}  {collapse(event.sentence)}" for event in told
        ]
        lines += [f"  {place}", ""]
    if len(events) > MOST_EVENTS:
        lines += [str(Sentence("There is more; the pages of the studies have it.")), ""]
    link = leaving(person.pk)
    end = Sentence("You asked for this letter. To end it: {link}", link=link)
    lines += ["-- ", str(end)]
    subject = counted("{n} thing is new", "{n} things are new", n=len(shown))
    return subject, "\n".join(lines) + "\n"


def newest() -> int:
    """Return the last event that no transaction is still to come before."""
    sure = Event.objects.filter(at__lt=timezone.now() - SETTLED_AFTER)
    return sure.aggregate(newest=Max("pk"))["newest"] or 0


def note_told(person: User | None, until: int) -> None:
    """Note that what there was is told: also where it was nothing for this person."""
    Digest.objects.filter(person=person).update(told_until=until)


def leaving(person_id: int | None) -> str:
    """Return the address that ends somebody's digest, without a sign-in."""
    code = signing.dumps(person_id, salt=LEAVING_SALT)
    return f"{settings.SITE_URL}/unsubscribe/{code}/"


def who_leaves(code: str) -> int | None:
    """Return whose digest an address ends; None if it is no such address."""
    try:
        return int(signing.loads(code, salt=LEAVING_SALT))
    except (signing.BadSignature, ValueError, TypeError):
        return None


def issue_feed_token(person: User) -> str:
    """Return a new secret, shown only this once; those of before end."""
    revoke_feed_tokens(person)
    prefix, secret = new_prefix(), new_secret()
    FeedToken.objects.create(person=person, prefix=prefix, digest=digest(secret))
    return f"{FEED_PREFIX}{prefix}_{secret}"


def revoke_feed_tokens(person: User) -> None:
    """End the address of somebody's feeds, from the next request on."""
    valid = FeedToken.objects.filter(person=person, revoked_at=None)
    valid.update(revoked_at=timezone.now())


def has_feed_token(person: User) -> bool:
    return FeedToken.objects.filter(person=person, revoked_at=None).exists()


@from_primary()  # a revoked token is refused at once, and the use is stored
def feed_reader(shown: str) -> User:
    """Return whose feeds a secret opens, or raise NotFoundError."""
    tokens = FeedToken.objects.select_related("person")
    token = row_of_secret(
        shown.removeprefix(FEED_PREFIX),
        lambda prefix: tokens.filter(prefix=prefix).first(),
    )
    if (
        token is None
        or token.revoked_at is not None
        or not token.person.is_active
        # Their lab requires a second factor that they have not set up.
        or lab_that_waits_for(token.person)
    ):
        raise NotFoundError(Sentence("feed"), "…")
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - FEED_USE_IS_NOTED_EVERY:
        FeedToken.objects.filter(pk=token.pk).update(last_used_at=now)
    sight.see_as(token.person_id)
    return token.person
