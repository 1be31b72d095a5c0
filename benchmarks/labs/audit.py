"""Keep what people did to a lab, in the transaction in which they did it."""

from django.contrib.auth.models import User

from benchmarks.models import AuditEntry, Lab


def log_action(
    *, lab: Lab, person: User, kind: AuditEntry.Kind, about: str
) -> AuditEntry:
    """Note that a person did something; the caller's transaction keeps both or none."""
    return AuditEntry.objects.create(
        lab=lab, kind=kind, person=person, who=person.get_username(), about=about[:300]
    )
