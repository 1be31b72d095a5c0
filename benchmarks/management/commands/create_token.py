"""`manage.py create_token LAB AGENT --upload`: print a new token, once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.tokens import issue_token
from benchmarks.management import find_lab
from benchmarks.models import Agent


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
