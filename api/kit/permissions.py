"""Reading is scoped by what a viewer may see; writing needs a token that may upload."""

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from benchmarks.models import Token


class Scoped(BasePermission):
    """Anybody may ask; only a token with the upload scope may write, to its own lab."""

    def has_permission(self, request: Request, view: object) -> bool:
        if request.method in SAFE_METHODS or request.method == "OPTIONS":
            return True
        if not isinstance(request.auth, Token):
            raise NotAuthenticated(
                'Writing needs a token: send "Authorization: Token vl_..." with a '
                "token of your lab that may upload."
            )
        if not request.auth.can_upload:
            raise PermissionDenied(
                "This token may read but not upload. Use one with the upload scope."
            )
        return True
