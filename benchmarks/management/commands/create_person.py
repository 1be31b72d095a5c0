"""`manage.py create_person LAB NAME --role maintainer`: give a person a place in a lab.

A new account's password is printed once; an existing account keeps its own.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.errors import InvalidError
from benchmarks.labs.people import place_person
from benchmarks.labs.sign_ins import keep_address
from benchmarks.management import find_lab
from benchmarks.models import Membership
from benchmarks.together.letters import is_address


def checked_name(name: str) -> str:
    """Return a name, or refuse one that could not be typed into the sign-in form."""
    try:
        User.username_validator(name)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    return name


class Command(BaseCommand):
    """Viewers read what is private, maintainers upload, admins keep the lab."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lab", help="slug of the lab, for example first-lab")
        parser.add_argument("name", help="what the person signs in with")
        parser.add_argument(
            "--role",
            choices=Membership.Role.values,
            default=Membership.Role.VIEWER.value,
            help="viewer unless given",
        )
        parser.add_argument(
            "--email", default="", help="an address that you know to be theirs"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        lab, name = find_lab(options["lab"]), checked_name(options["name"])
        role, email = options["role"], options["email"]
        if email and not is_address(email):
            raise CommandError(f"{email!r} is no e-mail address.")
        password = place_person(lab=lab, username=name, role=role)
        if email:
            try:
                keep_address(User.objects.get(username=name), email)
            except InvalidError as error:
                raise CommandError(str(error)) from None
        self.stderr.write(f"{name} is {role} of {lab}.")
        if password:
            self.stdout.write(password)
