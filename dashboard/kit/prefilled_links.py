from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.analysis.plan_steps import PROGRAMS
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Membership, Study, System
from dashboard.wording import evidence

TARGET_RUNS = 5
"""Number of runs that a prefilled plan asks for, if a system has fewer."""
MAX_PLANNED_SYSTEMS = 20


def plannable_tools(work_classes: Collection[str]) -> list[str]:
    """Return the tools that agents can run and that measure these work classes."""
    return [
        tool
        for tool in PROGRAMS
        if any(
            set(metric.work_classes) & set(work_classes)
            for metric in require_tool(tool).primary_metrics.values()
        )
    ]


@dataclass(frozen=True)
class PrefilledLinks:
    person: User | None

    @cached_property
    def editable_lab_ids(self) -> set[int]:
        memberships = Membership.objects.filter(
            user=self.person, role__in=Membership.EDITORS
        )
        return (
            set(memberships.values_list("lab_id", flat=True)) if self.person else set()
        )

    @cached_property
    def newest_editable_study(self) -> Study | None:
        studies = Study.objects.filter(
            lab__in=self.editable_lab_ids, deleted_at=None, archived_at=None
        )
        return studies.select_related("lab").order_by("-pk").first()

    def upload_url(self, **values: str) -> str:
        url = reverse("dashboard:upload")
        query = urlencode({name: text for name, text in values.items() if text})
        return self._signed_in(f"{url}?{query}" if query else url)

    def plan_url(
        self,
        study: Study | None,
        *,
        subject: str,
        systems: Collection[int],
        tools: Collection[str],
    ) -> str:
        """Return the URL of the form for a plan; without a study, for a new study."""
        if study is None:
            return self._signed_in(reverse("dashboard:new-study"))
        url = reverse("dashboard:new-plan", args=[study.lab.slug, study.slug])
        query = {
            "title": [_("Missing runs: %(what)s") % {"what": subject}],
            "system": [str(pk) for pk in sorted(systems)],
            "tool": list(tools),
            "repetitions": [str(TARGET_RUNS)],
        }
        return f"{url}?{urlencode(query, doseq=True)}"

    def hypervisor_plan_url(self, hypervisor: str, work: str) -> str:
        """Return the URL of the form for a plan with a hypervisor and a kind of work.

        It measures systems of the lab of the user's newest editable study.
        """
        study = self.newest_editable_study if self.editable_lab_ids else None
        systems: list[int] = []
        if study is not None:
            matching = System.objects.filter(lab=study.lab_id, hypervisor=hypervisor)
            systems = list(matching.order_by("-pk").values_list("pk", flat=True))
        return self.plan_url(
            study,
            subject=f"{hypervisor}, {evidence.work_name(work)}",
            systems=systems[:MAX_PLANNED_SYSTEMS],
            tools=plannable_tools([work]),
        )

    def _signed_in(self, url: str) -> str:
        if self.person is not None:
            return url
        return f"{reverse('dashboard:login')}?{urlencode({'next': url})}"
