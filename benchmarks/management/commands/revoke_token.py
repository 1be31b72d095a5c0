"""Revoke a token. It stops working with the next request."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.tokens import revoke_token
from benchmarks.models import Token


class Command(BaseCommand):
    """The command `revoke_token`. Tokens have the form ``vl_<prefix>_<secret>``."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prefix", help="the part between the first two underscores")

    def handle(self, *args: Any, **options: Any) -> None:
        token = Token.objects.filter(prefix=options["prefix"]).first()
        if token is None:
            raise CommandError(f'Token not found: prefix "{options["prefix"]}"')
        revoke_token(token=token)
        self.stdout.write(f"{token} of {token.agent} was revoked.")
