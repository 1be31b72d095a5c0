"""Create a lab, regardless of who may create labs in the browser.

The password of a new account is printed once. An existing account keeps its password.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug
from django.db import transaction

from benchmarks.errors import BenchmarksError
from benchmarks.labs.creation import SLUG_LENGTH, store_lab
from benchmarks.labs.members import set_role
from benchmarks.management.commands.create_person import checked_name
from benchmarks.models import Membership


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="short name for URLs, e.g. rack-lab")
        parser.add_argument("name", help='displayed name, e.g. "The rack lab"')
        parser.add_argument(
            "--admin", required=True, help="username of its first admin"
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        slug, admin = options["slug"], checked_name(options["admin"])
        try:
            validate_slug(slug)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        if len(slug) > SLUG_LENGTH:
            raise CommandError(
                f"A short name can have at most {SLUG_LENGTH} characters."
            )
        try:
            lab = store_lab(name=options["name"], slug=slug)
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        role = Membership.Role.ADMIN
        password = set_role(lab=lab, username=admin, role=role.value)
        self.stderr.write(f"{lab} was created. {admin} is its admin.")
        if password:
            self.stdout.write(password)
