"""Where what nobody measured is planned or uploaded, with what is known filled in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.analysis.planning import PROGRAMS
from benchmarks.models import Membership, Study, System
from benchmarks.own_tools.lookup import known_tool
from dashboard.wording import evidence

ENOUGH_RUNS = 5
"""A result of fewer runs is one to repeat."""
MOST_SYSTEMS = 20


def plannable(works: Collection[str]) -> list[str]:
    """Return the tools that an agent can be told to run and that measure these."""
    return [
        tool
        for tool in PROGRAMS
        if any(
            set(metric.classes) & set(works)
            for metric in known_tool(tool).primary.values()
        )
    ]


@dataclass(frozen=True)
class Filling:
    """Where one reader fills what is empty; who has not signed in does so first."""

    person: User | None

    @cached_property
    def labs(self) -> set[int]:
        """The labs whose studies the reader keeps."""
        mine = Membership.objects.filter(user=self.person, role__in=Membership.KEEPERS)
        return set(mine.values_list("lab_id", flat=True)) if self.person else set()

    @cached_property
    def study(self) -> Study | None:
        """The newest study that the reader keeps."""
        kept = Study.objects.filter(
            lab__in=self.labs, deleted_at=None, archived_at=None
        )
        return kept.select_related("lab").order_by("-pk").first()

    def upload(self, **known: str) -> str:
        """Return the upload page with what is known chosen."""
        address = reverse("dashboard:upload")
        chosen = urlencode({name: text for name, text in known.items() if text})
        return self._signed_in(f"{address}?{chosen}" if chosen else address)

    def plan(
        self,
        study: Study | None,
        *,
        what: str,
        systems: Collection[int],
        tools: Collection[str],
    ) -> str:
        """Return the form of a plan in a study, or of the study that it needs."""
        if study is None:
            return self._signed_in(reverse("dashboard:new-study"))
        address = reverse("dashboard:new-plan", args=[study.lab.slug, study.slug])
        chosen = {
            "title": [_("Missing runs: %(what)s") % {"what": what}],
            "system": [str(pk) for pk in sorted(systems)],
            "tool": list(tools),
            "repetitions": [str(ENOUGH_RUNS)],
        }
        return f"{address}?{urlencode(chosen, doseq=True)}"

    def plan_of(self, hypervisor: str, work: str) -> str:
        """Return a plan of the reader's systems of a hypervisor at a class of work."""
        study = self.study if self.labs else None
        systems: list[int] = []
        if study is not None:
            own = System.objects.filter(lab=study.lab_id, hypervisor=hypervisor)
            systems = list(own.order_by("-pk").values_list("pk", flat=True))
        return self.plan(
            study,
            what=f"{hypervisor}, {evidence.work_name(work)}",
            systems=systems[:MOST_SYSTEMS],
            tools=plannable([work]),
        )

    def _signed_in(self, address: str) -> str:
        if self.person is not None:
            return address
        return f"{reverse('dashboard:login')}?{urlencode({'next': address})}"
