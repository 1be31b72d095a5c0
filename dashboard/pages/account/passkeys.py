"""Passkeys: what a browser is asked, and whether its answer fits.

A question is good for one answer, and a passkey that counts what it signs may not fall
back: an answer that was overheard is of no use.
"""

import json
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from fido2.webauthn import AuthenticationResponse

Credential = dict[str, Any]


def question(person: User) -> Credential:
    """Return what the browser asks one of somebody's passkeys."""
    return auth.begin_authentication(person)


def invitation(person: User) -> Credential:
    """Return what the browser asks a passkey that is to be made."""
    return auth.begin_registration(person, passwordless=False)


def made(text: str) -> Credential | None:
    """Return a new passkey as it is kept, if it answers the question."""
    credential = _read(text)
    if credential is None:
        return None
    try:
        auth.parse_registration_response(credential)
        auth.complete_registration(credential)
    except (ValidationError, ValueError, TypeError, KeyError):
        return None
    finally:
        auth.clear_state()
    return credential


@transaction.atomic
def answered(person: User, text: str) -> Authenticator | None:
    """Return the passkey whose answer it is, if it fits."""
    credential = _read(text)
    if credential is None:
        return None
    try:
        parsed = AuthenticationResponse.from_dict(credential)
        found = auth.complete_authentication(person, credential)
    except (ValidationError, ValueError, TypeError, KeyError):
        return None
    finally:
        auth.clear_state()
    row = Authenticator.objects.select_for_update().get(pk=found.pk)
    count, before = parsed.response.authenticator_data.counter, row.data.get("count", 0)
    # Most passkeys count nothing and say 0 each time.
    if count <= before and (count or before):
        return None
    row.data["count"] = count
    row.save(update_fields=["data"])
    return row


def _read(text: str) -> Credential | None:
    try:
        found = json.loads(text[:20_000])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
