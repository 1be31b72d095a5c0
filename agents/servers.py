"""Questions to the server that store nothing: is it one, and is the token good."""

from typing import Any, Dict

from agents.client import Client, PassingError, RefusedError
from agents.errors import ServerAwayError, ServerRefusedError

_NO_TOKEN = (401, 403)


def ask_health(client: Client) -> Dict[str, Any]:
    """Return the server's health; raise ServerAwayError if it is none of ours."""
    try:
        health = client.attempt("GET", "health/")
    except PassingError as passing:
        raise ServerAwayError("%s: %s" % (client.url, passing)) from None
    except RefusedError:
        health = {}
    if "status" not in health or "version" not in health:
        raise ServerAwayError("%s is not a Virtlab server." % client.url)
    return health


def ask_token(client: Client) -> None:
    """Raise ServerRefusedError unless the token may upload.

    An upload of nothing is sent: the token is looked at first, then the emptiness is
    refused, so nothing is stored.
    """
    try:
        client.attempt("POST", "runs/", b"{}")
    except PassingError as passing:
        raise ServerAwayError("%s: %s" % (client.url, passing)) from None
    except RefusedError as refused:
        if refused.status in _NO_TOKEN:
            raise ServerRefusedError(refused.detail) from None
