"""Keep what people did to a lab, in the transaction in which they did it."""

from django.contrib.auth.models import User

from benchmarks.models import Deed, Lab


def note_deed(*, lab: Lab, person: User, kind: Deed.Kind, about: str) -> Deed:
    """Note that a person did something; the caller's transaction keeps both or none."""
    return Deed.objects.create(
        lab=lab, kind=kind, person=person, who=person.get_username(), about=about[:300]
    )
