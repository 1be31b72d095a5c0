"""Create a token for an agent and print it. The token is not shown again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.tokens import issue_token
from benchmarks.management import lab_argument
from benchmarks.models import Agent


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lab", help="slug of the lab, for example first-lab")
        parser.add_argument(
            "agent", help="name of the program or person that uses the token"
        )
        parser.add_argument("--upload", action="store_true", help="allow uploads")
        parser.add_argument(
            "--read", action="store_true", help="allow reading private data"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["upload"] or options["read"]):
            raise CommandError(
                "Choose the permissions of the token: --upload, --read, or both."
            )
        lab = lab_argument(options["lab"])
        agent, _ = Agent.objects.get_or_create(lab=lab, name=options["agent"])
        _, secret = issue_token(
            agent=agent, can_upload=options["upload"], can_read=options["read"]
        )
        self.stdout.write(secret)
