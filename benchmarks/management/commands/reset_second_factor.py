"""`manage.py reset_second_factor NAME`: for who has lost app, passkeys and codes.

Their password alone signs them in afterwards: be sure who asks.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.sign_ins import reset_factors


class Command(BaseCommand):
    """Takes all second factors of a person away; each of their labs' logs tells."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the person signs in with")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["name"]).first()
        if person is None:
            raise CommandError(f'There is no account "{options["name"]}".')
        count = reset_factors(person)
        self.stdout.write(f"{person} had {count} second factors and has none now.")
