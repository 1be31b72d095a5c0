"""Who is asking: what a token or a signed-in person may see."""

from rest_framework.request import Request

from benchmarks.models import Membership, Token
from benchmarks.viewer import ANYONE, Viewer


def viewer_of(request: Request) -> Viewer:
    """A token that may read sees its lab; a person sees the labs they belong to.

    A token that may only upload sees what everybody sees.
    """
    token, user = request.auth, request.user
    if isinstance(token, Token):
        return Viewer(frozenset({token.lab_id})) if token.can_read else ANYONE
    if not user.is_authenticated:
        return ANYONE
    labs = Membership.objects.filter(user=user).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))
