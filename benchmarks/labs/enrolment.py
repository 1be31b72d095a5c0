"""Enrolment codes: a machine exchanges one for a token, within an hour.

A code is signed, so nothing is stored. It works for any number of machines.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils import timezone

from benchmarks import rls
from benchmarks.errors import InvalidError
from benchmarks.labs.tokens import issue_agent_token
from benchmarks.models import Host, Membership, Study
from benchmarks.sentences import template

CODE_LIFETIME = timedelta(hours=1)
TOKEN_LIFETIME = timedelta(days=90)
_SALT = "virtlab enrolment"
INVALID_CODE = template(
    "This enrolment code is wrong or older than an hour. Open the page of the study, "
    'choose "Measure a machine", and use the new line.'
)


def enrolment_code(study: Study, person: User) -> str:
    return signing.dumps([study.pk, person.pk], salt=_SALT)


@rls.allow_all()
@transaction.atomic
def redeem_code(code: str, agent: str) -> tuple[Study, str, list[str]]:
    """Return the study, a new token that may upload, and the lab's hosts.

    Raise InvalidError unless the code's maker may still upload.
    """
    try:
        study_id, person_id = signing.loads(code, salt=_SALT, max_age=CODE_LIFETIME)
    except signing.BadSignature:
        raise InvalidError("invalid_code", INVALID_CODE).for_field("code") from None
    study = Study.objects.select_related("lab").filter(pk=study_id).first()
    editors = Membership.objects.filter(
        user=person_id, user__is_active=True, role__in=Membership.EDITORS
    )
    editor = study and editors.select_related("user").filter(lab=study.lab_id).first()
    if study is None or not editor:
        raise InvalidError("invalid_code", INVALID_CODE).for_field("code")
    _token, secret = issue_agent_token(
        lab=study.lab,
        person=editor.user,
        agent=agent,
        scopes=frozenset({"upload"}),
        expires_at=timezone.now() + TOKEN_LIFETIME,
    )
    hosts = Host.objects.filter(lab=study.lab_id)
    return study, secret, sorted(hosts.values_list("slug", flat=True))
