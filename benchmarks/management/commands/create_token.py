"""`manage.py create_token LAB AGENT --upload`: print a new token, once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, Lab


class Command(BaseCommand):
    """The secret is stored nowhere: who loses it makes another one."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lab", help="slug of the lab, for example first-lab")
        parser.add_argument("agent", help="name of the program or person that uses it")
        parser.add_argument("--upload", action="store_true", help="may upload runs")
        parser.add_argument("--read", action="store_true", help="may read private data")

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["upload"] or options["read"]):
            raise CommandError("Say what the token is for: --upload, --read, or both.")
        lab = find_lab(options["lab"])
        agent, _ = Agent.objects.get_or_create(lab=lab, name=options["agent"])
        _, secret = issue_token(
            agent=agent, can_upload=options["upload"], can_read=options["read"]
        )
        self.stdout.write(secret)


def find_lab(slug: str) -> Lab:
    """Return the lab of a slug; an unknown one is refused with those there are."""
    lab = Lab.objects.filter(slug=slug).first()
    if lab is None:
        known = ", ".join(Lab.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f'There is no lab "{slug}". The labs are: {known}.')
    return lab
