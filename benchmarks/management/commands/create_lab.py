"""`manage.py create_lab SLUG NAME --admin PERSON`: make a lab, whatever the settings.

The password of a new account is printed once; an existing account keeps its own.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug
from django.db import transaction

from benchmarks.errors import BenchmarksError
from benchmarks.labs.making import SLUG_LENGTH, new_lab
from benchmarks.labs.people import place_person
from benchmarks.management.commands.create_person import checked_name
from benchmarks.models import Membership


class Command(BaseCommand):
    """A lab needs somebody who keeps it: name its first admin."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="short name for addresses, e.g. rack-lab")
        parser.add_argument("name", help='what people call it, e.g. "The rack lab"')
        parser.add_argument("--admin", required=True, help="who signs in as its admin")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        slug, admin = options["slug"], checked_name(options["admin"])
        try:
            validate_slug(slug)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        if len(slug) > SLUG_LENGTH:
            raise CommandError(f"A short name has at most {SLUG_LENGTH} characters.")
        try:
            lab = new_lab(name=options["name"], slug=slug)
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        role = Membership.Role.ADMIN
        password = place_person(lab=lab, username=admin, role=role.value)
        self.stderr.write(f"{lab} is created; {admin} is its admin.")
        if password:
            self.stdout.write(password)
