"""`manage.py delete study|runs|account`: delete for good; without --yes only say what.

manage.py delete study first-lab/tests --reason "made to try it out" --yes
manage.py delete runs first-lab 17 18 19 --reason "the wrong machine" --yes
manage.py delete account carol --yes
"""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
)

from benchmarks.errors import BenchmarksError
from benchmarks.keeping import deletion
from benchmarks.management import find_lab, find_study
from benchmarks.models import Run

WHO = "manage.py"


class Command(BaseCommand):
    """Says what would go. With --yes it goes, and the audit log keeps why."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="kind", required=True)
        study = kinds.add_parser("study", formatter_class=DjangoHelpFormatter)
        study.add_argument("name", metavar="LAB/STUDY")
        runs = kinds.add_parser("runs", formatter_class=DjangoHelpFormatter)
        runs.add_argument("lab")
        runs.add_argument("ids", nargs="+", type=int, metavar="RUN")
        account = kinds.add_parser("account", formatter_class=DjangoHelpFormatter)
        account.add_argument("name")
        for kind in (study, runs):
            kind.add_argument("--reason", required=True, help="kept in the audit log")
        for kind in (study, runs, account):
            kind.add_argument("--yes", action="store_true", help="do it")

    def handle(self, *args: Any, **options: Any) -> None:
        delete = {"study": self._study, "runs": self._runs, "account": self._account}
        try:
            delete[options["kind"]](options)
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        if not options["yes"]:
            self.stdout.write("Nothing was deleted. With --yes it is, for good.")

    def _study(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        loss = deletion.loss_of_study(study)
        if options["yes"]:
            reason = options["reason"]
            loss = deletion.delete_study(study=study, who=WHO, reason=reason)
        self._say(
            f"{study}: {loss.runs:,} runs, {loss.samples:,} samples, "
            f"{loss.cells:,} cells, {loss.flags:,} flags"
        )
        if loss.withdrawn:
            self._say(
                f"published, withdrawn with the reason: {loss.withdrawn} versions"
            )

    def _runs(self, options: dict[str, Any]) -> None:
        lab = find_lab(options["lab"])
        runs = list(Run.objects.filter(lab=lab, pk__in=options["ids"]))
        if missing := set(options["ids"]) - {run.pk for run in runs}:
            listed = ", ".join(map(str, sorted(missing)))
            raise CommandError(f"{lab.slug} has no run {listed}.")
        versions = [str(each) for each in deletion.versions_with(runs)]
        loss = deletion.loss_of_uploads(runs)
        if options["yes"]:
            reason = options["reason"]
            loss = deletion.delete_uploads(lab=lab, runs=runs, who=WHO, reason=reason)
        self._say(f"{loss.runs:,} runs of these uploads, {loss.samples:,} samples")
        if versions:
            listed = ", ".join(versions)
            self._say(f"published, and kept as they are: {listed}")

    def _account(self, options: dict[str, Any]) -> None:
        people = get_user_model().objects
        person = people.filter(username=options["name"]).first()
        if person is None:
            raise CommandError(f"There is no account {options['name']}.")
        labs = [each.lab.slug for each in person.memberships.select_related("lab")]
        if options["yes"]:
            deletion.delete_account(person=person, who=WHO)
        self._say(
            f"{person.get_username()}, of {', '.join(labs) or 'no lab'}; what it "
            "uploaded and published stays"
        )

    def _say(self, line: str) -> None:
        self.stdout.write(line)
