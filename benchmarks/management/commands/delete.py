"""Delete a study, runs or an account permanently. Without --yes, only show what
would be deleted.

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
from benchmarks.maintenance import deletion
from benchmarks.management import lab_argument, study_argument
from benchmarks.models import Run

ACTOR = "manage.py"


class Command(BaseCommand):
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
            kind.add_argument(
                "--reason", required=True, help="reason, stored in the audit log"
            )
        for kind in (study, runs, account):
            kind.add_argument("--yes", action="store_true", help="delete permanently")

    def handle(self, *args: Any, **options: Any) -> None:
        delete = {"study": self._study, "runs": self._runs, "account": self._account}
        try:
            delete[options["kind"]](options)
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        if not options["yes"]:
            self.stdout.write("Nothing was deleted. Add --yes to delete permanently.")

    def _study(self, options: dict[str, Any]) -> None:
        study = study_argument(options["name"])
        counts = deletion.count_study_deletion(study)
        if options["yes"]:
            reason = options["reason"]
            counts = deletion.delete_study(study=study, actor=ACTOR, reason=reason)
        self._print(
            f"{study}: {counts.runs:,} runs, {counts.samples:,} samples, "
            f"{counts.cells:,} results, {counts.flags:,} flags"
        )
        if counts.withdrawn:
            self._print(
                f"published versions, withdrawn with the reason: {counts.withdrawn}"
            )

    def _runs(self, options: dict[str, Any]) -> None:
        lab = lab_argument(options["lab"])
        runs = list(Run.objects.filter(lab=lab, pk__in=options["ids"]))
        if missing := set(options["ids"]) - {run.pk for run in runs}:
            listed = ", ".join(map(str, sorted(missing)))
            raise CommandError(f"{lab.slug} has no run {listed}.")
        versions = [str(version) for version in deletion.versions_quoting(runs)]
        counts = deletion.count_upload_deletion(runs)
        if options["yes"]:
            reason = options["reason"]
            counts = deletion.delete_uploads(
                lab=lab, runs=runs, actor=ACTOR, reason=reason
            )
        self._print(
            f"{counts.runs:,} runs of these uploads, {counts.samples:,} samples"
        )
        if versions:
            listed = ", ".join(versions)
            self._print(f"published versions, kept unchanged: {listed}")

    def _account(self, options: dict[str, Any]) -> None:
        people = get_user_model().objects
        person = people.filter(username=options["name"]).first()
        if person is None:
            raise CommandError(f"Account not found: {options['name']}")
        labs = [
            membership.lab.slug
            for membership in person.memberships.select_related("lab")
        ]
        if options["yes"]:
            deletion.delete_account(person=person, actor=ACTOR)
        self._print(
            f"{person.get_username()}, member of {', '.join(labs) or 'no lab'}. Its "
            "uploads and published versions are kept."
        )

    def _print(self, line: str) -> None:
        self.stdout.write(line)
