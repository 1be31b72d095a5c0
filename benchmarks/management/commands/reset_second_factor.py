"""Remove all second factors of a person who has lost them.

The person can then sign in with the password alone: verify the identity first.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.member_sign_in_methods import reset_factors


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="username")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["name"]).first()
        if person is None:
            raise CommandError(f"Account not found: {options['name']}")
        count = reset_factors(person)
        self.stdout.write(f"{count} second factors of {person} were removed.")
