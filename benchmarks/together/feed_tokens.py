"""Secrets in addresses of feeds: feed readers sign in nowhere."""

from datetime import timedelta
from typing import Final

from django.contrib.auth.models import User
from django.utils import timezone

from benchmarks import sight
from benchmarks.errors import NotFoundError
from benchmarks.labs.sign_ins import lab_that_waits_for
from benchmarks.labs.tokens import digest, fits, new_prefix, new_secret
from benchmarks.models import FeedToken
from benchmarks.replica import from_primary
from benchmarks.sentences import Sentence

PREFIX: Final = "vf_"
SEEN_EVERY: Final = timedelta(hours=1)


def issue_feed_token(person: User) -> str:
    """Return a new secret, shown only this once; those of before end."""
    revoke_feed_tokens(person)
    prefix, secret = new_prefix(), new_secret()
    FeedToken.objects.create(person=person, prefix=prefix, digest=digest(secret))
    return f"{PREFIX}{prefix}_{secret}"


def revoke_feed_tokens(person: User) -> None:
    """End the address of somebody's feeds, from the next request on."""
    valid = FeedToken.objects.filter(person=person, revoked_at=None)
    valid.update(revoked_at=timezone.now())


def has_feed_token(person: User) -> bool:
    return FeedToken.objects.filter(person=person, revoked_at=None).exists()


@from_primary()  # a revoked token is refused at once, and the use is stored
def reader_of(shown: str) -> User:
    """Return whose feeds a secret opens, or raise NotFoundError."""
    prefix, _, secret = shown.removeprefix(PREFIX).partition("_")
    tokens = FeedToken.objects.select_related("person")
    # A NUL character would be an error in the database.
    is_prefix = prefix.isascii() and prefix.isalnum()
    token = tokens.filter(prefix=prefix).first() if is_prefix else None
    # Compared in any case: an unknown prefix must not be answered sooner.
    matches = fits(secret, token.digest if token else digest(""))
    if (
        token is None
        or not matches
        or token.revoked_at is not None
        or not token.person.is_active
        # Their lab requires a second factor that they have not set up.
        or lab_that_waits_for(token.person)
    ):
        raise NotFoundError(Sentence("feed"), "…")
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - SEEN_EVERY:
        FeedToken.objects.filter(pk=token.pk).update(last_used_at=now)
    sight.see_as(token.person_id)
    return token.person
