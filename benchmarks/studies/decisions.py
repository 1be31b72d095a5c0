"""What people decide about flags."""

from django.contrib.auth.models import User
from django.db import transaction

from benchmarks.errors import DecisionError
from benchmarks.models import Decision, Flag
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text


@transaction.atomic
def decide_flag(
    *, flag: Flag, status: str, note: str, who: str, person: User | None = None
) -> Flag:
    """Confirm, dismiss or reopen a flag; every decision is kept with its note.

    Raises DecisionError without a note: whoever reads it later must know why.
    """
    if not note.strip():
        raise DecisionError(
            Sentence("Say why in a note: others must be able to follow it.")
        )
    note = clean_text(note.strip(), what=Sentence("note"), multiline=True)
    locked = Flag.objects.select_for_update().get(pk=flag.pk)
    Decision.objects.create(
        flag=locked, status=status, note=note, who=who, person=person
    )
    locked.status = status
    locked.save(update_fields=["status"])
    return locked
