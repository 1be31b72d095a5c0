"""Create a token for an agent and print it. The token is not shown again."""

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.labs.tokens import issue_token
from benchmarks.management import lab_argument
from benchmarks.models import Agent

SCOPE_PURPOSES: Final = {
    "upload": "allow uploads, and registering hosts and systems",
    "read": "allow reading the lab's private data",
    "manage": "allow changing studies, plans, webhooks and all other data of the lab",
}


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lab", help="slug of the lab, for example first-lab")
        parser.add_argument(
            "agent", help="name of the program or person that uses the token"
        )
        for scope, purpose in SCOPE_PURPOSES.items():
            parser.add_argument(f"--{scope}", action="store_true", help=purpose)

    def handle(self, *args: Any, **options: Any) -> None:
        scopes = {f"can_{scope}": options[scope] for scope in SCOPE_PURPOSES}
        if not any(scopes.values()):
            raise CommandError(
                "Choose the permissions of the token: --upload, --read, --manage."
            )
        lab = lab_argument(options["lab"])
        agent, _ = Agent.objects.get_or_create(lab=lab, name=options["agent"])
        _, secret = issue_token(agent=agent, **scopes)
        self.stdout.write(secret)
