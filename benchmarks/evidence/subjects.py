"""Results of the visible studies for a hypervisor, a class of work or a machine."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, Q
from django.utils.text import slugify

from benchmarks.evidence.queries import (
    Question,
    StudyAverage,
    StudyInfo,
    study_averages_by_question,
)
from benchmarks.evidence.synthesis import Synthesis, screened_syntheses
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.models import Effect, EffectSummary, Host, Study, System
from benchmarks.models.study import visible_studies
from benchmarks.viewer import Viewer


class VersionUse(NamedTuple):
    """Results of a version of a hypervisor; dates of publication may be empty."""

    version: str
    study_count: int
    result_count: int
    first: str
    last: str


class OptionUse(NamedTuple):
    """An option of systems that has several values."""

    name: str
    values: tuple[str, ...]
    study_count: int


class MachineName(NamedTuple):
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, or the machines of one model.

    ``hosts`` has more than one entry for specimens of a model, and for machines of
    several labs with the same name.
    """

    slug: str
    title: str
    hosts: tuple[Host, ...]
    is_model: bool

    @property
    def common_facts(self) -> dict[str, Any]:
        """The facts that all hosts share."""
        first, *others = (host.facts for host in self.hosts)
        return {
            name: value
            for name, value in first.items()
            if all(facts.get(name) == value for facts in others)
        }


def visible_effects(viewer: Viewer, **filters: Any) -> Any:
    return Effect.objects.filter(
        visible_studies(viewer, "study__"), study__deleted_at=None, **filters
    ).order_by()


def visible_summaries(viewer: Viewer) -> Any:
    summaries = EffectSummary.objects.visible_to(viewer)
    return summaries.filter(study__deleted_at=None).order_by()


def measured_studies(viewer: Viewer) -> list[StudyInfo]:
    """Return the studies with results, by title."""
    ids = visible_effects(viewer).exclude(work_class="").values("study_id").distinct()
    studies = Study.objects.filter(pk__in=ids).select_related("lab").order_by("title")
    return [
        StudyInfo(
            *(study.pk, study.lab.slug, study.slug, study.title, study.author),
            *(study.institution, study.published, study.data_licence),
            json.dumps(study.sources),
        )
        for study in studies
    ]


def measured_hypervisors(viewer: Viewer) -> list[str]:
    names = visible_effects(viewer).values_list("hypervisor", flat=True).distinct()
    return sorted(names)


def listed_hypervisors(viewer: Viewer) -> list[str]:
    """Return the main hypervisors, then the other measured ones."""
    return list(dict.fromkeys((*MAIN_HYPERVISORS, *measured_hypervisors(viewer))))


def versions_of(viewer: Viewer, hypervisor: str) -> list[VersionUse]:
    rows = visible_effects(viewer, hypervisor=hypervisor)
    rows = rows.values("system__hypervisor_version").annotate(
        studies=Count("study", distinct=True),
        results=Count("pk"),
        first=Min("study__published"),
        last=Max("study__published"),
    )
    uses = (VersionUse(*map(row.get, _VERSION_FIELDS)) for row in rows)
    return sorted(uses, key=lambda use: (use.last, use.version), reverse=True)


_VERSION_FIELDS = ("system__hypervisor_version", "studies", "results", "first", "last")


def options_of(viewer: Viewer, effects_filter: Q) -> list[OptionUse]:
    """Return options with several values, those of most studies first."""
    pairs = visible_effects(viewer).filter(effects_filter)
    pairs = pairs.values_list("study_id", "system_id").distinct()
    studies: dict[int, set[int]] = defaultdict(set)
    for study, system in pairs:
        studies[system].add(study)
    values: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for system in System.objects.filter(pk__in=studies).only("options"):
        for name, value in system.options.items():
            values[name][str(value)] |= studies[system.pk]
    uses = [
        OptionUse(name, tuple(sorted(found)), len(set().union(*found.values())))
        for name, found in values.items()
        if len(found) > 1
    ]
    return sorted(uses, key=lambda use: (-use.study_count, use.name))


def machine_slug(average: StudyAverage) -> str:
    """Return the slug of the machine of a result, or of its machine model."""
    return slugify(average.average.model) or average.host.slug


def model_slug(host: Host) -> str:
    return slugify(str(host.facts.get("machine_model", "")))


def visible_machines(viewer: Viewer) -> list[Machine]:
    """Return the machines of one model as one."""
    ids = visible_effects(viewer).values("host_id").distinct()
    return _machines(Host.objects.filter(pk__in=ids).select_related("lab"))


def compared_machines(viewer: Viewer) -> list[MachineName]:
    """Return machines and machine models with results relative to native, by title."""
    compared = visible_summaries(viewer).exclude(work_class="")
    ids = compared.filter(ratio_count__gt=0).values("host_id").distinct()
    hosts = Host.objects.filter(pk__in=ids).order_by()
    names = hosts.values_list("facts__machine_model", "title", "slug").distinct()
    titles = {
        slugify(str(model or "")) or slug: str(model or title or slug)
        for model, title, slug in names
    }
    machines = map(MachineName._make, titles.items())
    return sorted(machines, key=lambda machine: machine.title.casefold())


def find_machine(viewer: Viewer, slug: str) -> Machine | None:
    hosts = Host.objects.visible_to(viewer).select_related("lab")
    with_model = hosts.filter(facts__has_key="machine_model").order_by()
    names = with_model.values_list("facts__machine_model", flat=True).distinct()
    titles = [name for name in names if slugify(str(name)) == slug]
    if slug and titles:
        (model,) = _machines(hosts.filter(facts__machine_model__in=titles))
        return model
    named = sorted(hosts.filter(slug=slug), key=lambda host: host.lab.slug)
    return Machine(slug, named[0].title or slug, tuple(named), False) if named else None


def _machines(hosts: Iterable[Host]) -> list[Machine]:
    groups: dict[tuple[str, bool], list[Host]] = defaultdict(list)
    for host in hosts:
        model = model_slug(host)
        groups[model or host.slug, bool(model)].append(host)
    machines = []
    for (slug, is_model), members in groups.items():
        members.sort(key=lambda host: (host.lab.slug, host.slug))
        first = members[0]
        title = str(first.facts["machine_model"]) if is_model else first.title or slug
        machines.append(Machine(slug, title, tuple(members), is_model))
    return sorted(machines, key=lambda machine: machine.title.casefold())


def machine_averages(
    viewer: Viewer, machine: Machine, questions: Collection[Question] | None = None
) -> dict[Question, list[StudyAverage]]:
    """Return the results of this machine, or of all machines of this model.

    Each machine of a model counts as one: single readings of machines of a provider.
    """
    hosts = {host.pk for host in machine.hosts}
    summaries = visible_summaries(viewer).filter(host__in=hosts)
    studies = set(summaries.values_list("study_id", flat=True).distinct())
    if not studies:
        return {}
    found = study_averages_by_question(viewer, questions, studies, hosts)
    return {
        question: list(map(_of_one_model, members))
        for question, members in found.items()
    }


def machine_syntheses(
    averages: Mapping[Question, Iterable[StudyAverage]],
) -> dict[Question, Synthesis]:
    return screened_syntheses(
        (question, member.average)
        for question, members in averages.items()
        for member in members
    )


def _of_one_model(member: StudyAverage) -> StudyAverage:
    average = member.average
    if not average.model:
        return member
    machine = f"specimen {average.specimen}"
    return replace(member, average=replace(average, machine=machine, model=""))
