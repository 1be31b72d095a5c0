"""Keep what people did to a lab, in the transaction in which they did it."""

from django.contrib.auth.models import User

from benchmarks import sight
from benchmarks.models import AuditEntry, Lab


@sight.everything()
def log_action(
    lab: Lab,
    kind: AuditEntry.Kind,
    about: str,
    *,
    person: User | None = None,
    agent: str = "",
) -> AuditEntry:
    """Store who did something; ``agent`` names who did it if no person did."""
    who = person.get_username() if person else agent
    return AuditEntry.objects.create(
        lab=lab, kind=kind, person=person, who=who, about=about[:300]
    )
