"""Add a person to a lab, or change their role. Create the account if necessary.

The password of a new account is printed once. An existing account keeps its password.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.collaboration.outgoing_mail import is_email_address
from benchmarks.errors import InvalidError
from benchmarks.labs.member_sign_in_methods import set_verified_address
from benchmarks.labs.members import set_role
from benchmarks.management import lab_argument
from benchmarks.models import Membership


def checked_name(name: str) -> str:
    try:
        User.username_validator(name)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    return name


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lab", help="slug of the lab, for example first-lab")
        parser.add_argument("name", help="username")
        parser.add_argument(
            "--role",
            choices=Membership.Role.values,
            default=Membership.Role.VIEWER.value,
            help="default: viewer",
        )
        parser.add_argument(
            "--email", default="", help="email address, already verified by you"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        lab, name = lab_argument(options["lab"]), checked_name(options["name"])
        role, email = options["role"], options["email"]
        if email and not is_email_address(email):
            raise CommandError(f"{email!r} is not a valid email address.")
        password = set_role(lab=lab, username=name, role=role)
        if email:
            try:
                set_verified_address(User.objects.get(username=name), email)
            except InvalidError as error:
                raise CommandError(str(error)) from None
        self.stderr.write(f"{name} is {role} of {lab}.")
        if password:
            self.stdout.write(password)
