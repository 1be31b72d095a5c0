from collections.abc import Mapping
from typing import Any, Final
from xml.sax.saxutils import escape

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.evidence.queries import Question, evidence_matrix
from benchmarks.evidence.subjects import (
    find_machine,
    listed_hypervisors,
    measured_hypervisors,
    visible_machines,
)
from benchmarks.studies.lookup import list_studies
from benchmarks.viewer import ANYONE, Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.page_cache import PageContent, ViewResult, cached_page
from dashboard.kit.routes import page
from dashboard.kit.subject_urls import (
    hypervisor_of_slug,
    hypervisor_url,
    machine_url,
    work_name_in_url,
    work_of_name,
    work_url,
)
from dashboard.kit.viewers import viewer_of
from dashboard.pages.subjects.hypervisors import hypervisor_page
from dashboard.pages.subjects.machines import machine_page
from dashboard.pages.subjects.tables import Cell, Table, measured_questions
from dashboard.pages.subjects.works import work_page
from dashboard.wording import evidence

FILES: Final = (("csv", "CSV"), ("json", "JSON"))


@cached_page
def show_hypervisor(request: HttpRequest, hypervisor: str) -> PageContent:
    viewer = viewer_of(request)
    name = hypervisor_of_slug(hypervisor, measured_hypervisors(viewer))
    if name is None:
        raise Http404(_("No hypervisor of this name is known."))
    parent = _("Hypervisors"), reverse("dashboard:hypervisors")
    return _content(hypervisor_page(viewer, name), parent)


@cached_page
def show_work(request: HttpRequest, work: str) -> ViewResult:
    slug = work_of_name(work)
    if slug is None:
        raise Http404(_("No class of work of this name is known."))
    if work != work_name_in_url(slug):
        return redirect(work_url(slug), permanent=True)
    parent = _("Work"), reverse("dashboard:works")
    return _content(work_page(viewer_of(request), slug), parent)


@cached_page
def show_machine(request: HttpRequest, machine: str) -> PageContent:
    viewer = viewer_of(request)
    found = find_machine(viewer, machine)
    if found is None:
        raise Http404(_("No machine of this name is known."))
    parent = _("Machines"), reverse("dashboard:machines")
    return _content(machine_page(viewer, found), parent)


def _content(shown: Mapping[str, Any], parent: tuple[str, str]) -> PageContent:
    query = urlencode(shown["query"])
    files = [
        (f"{reverse('dashboard:evidence-file', args=[form])}?{query}", form, name)
        for form, name in FILES
    ]
    feed = f"{reverse('dashboard:feed')}?{query}"
    context = {"page": shown, "parent": parent, "files": files, "feed": feed}
    return PageContent("subjects/subject.html", context)


@cached_page
def list_hypervisors(request: HttpRequest) -> PageContent:
    viewer = viewer_of(request)
    syntheses = evidence_matrix(viewer)
    rows = []
    for name in listed_hypervisors(viewer):
        known = measured_questions(
            (Question(name, work) for work in WORK_CLASSES), syntheses
        )
        machines = max(
            (
                evidence.physical_machine_count(synthesis.main_pool)
                for _question, synthesis in known
            ),
            default=0,
        )
        rows.append(
            (
                Cell(name, hypervisor_url(name)),
                Cell(str(len(known)), is_number=True),
                Cell(str(machines), is_number=True),
            )
        )
    heads = (
        Cell(_("Hypervisor")),
        Cell(_("Classes of work"), is_number=True),
        Cell(_("Most machines"), is_number=True),
    )
    table = Table("hypervisors", _("Hypervisors"), heads, tuple(rows))
    return _index(table, _("Everything that the studies measured, by hypervisor."))


@cached_page
def list_works(request: HttpRequest) -> PageContent:
    syntheses = evidence_matrix(viewer_of(request))
    measured = measured_questions(syntheses, syntheses)
    rows = []
    for work in WORK_CLASSES:
        names = sorted(
            question.hypervisor
            for question, _synthesis in measured
            if question.work_class == work
        )
        rows.append(
            (
                Cell(capfirst(evidence.work_phrase(work)), work_url(work)),
                Cell(evidence.work_name(work)),
                Cell(", ".join(names) or _("not measured")),
            )
        )
    heads = Cell(_("I run")), Cell(_("Work class")), Cell(_("Measured with"))
    table = Table("works", _("Work"), heads, tuple(rows))
    return _index(table, _("Everything that the studies measured, by kind of work."))


@cached_page
def list_machines(request: HttpRequest) -> PageContent:
    machines = visible_machines(viewer_of(request))
    rows = tuple(
        (
            Cell(machine.title, machine_url(machine.slug)),
            Cell(str(machine.hosts[0].facts.get("cpu", ""))),
            Cell(
                evidence.machines_text(len(machine.hosts)) if machine.is_model else ""
            ),
            Cell(", ".join(sorted({host.lab.name for host in machine.hosts}))),
        )
        for machine in machines
    )
    heads = (
        Cell(_("Machine")),
        Cell(_("Processor")),
        Cell(_("Machines of this model")),
        Cell(_("Lab")),
    )
    table = Table("machines", _("Machines"), heads, rows)
    return _index(table, _("Everything that the studies measured, by machine."))


def _index(table: Table, lead: str) -> PageContent:
    return PageContent("subjects/index.html", {"table": table, "lead": lead})


SITE_PAGES: Final = (
    *("home", "studies", "evidence", "hypervisors", "works", "machines", "mix"),
    *("cross-study", "data", "docs", "glossary"),
)


def show_sitemap(request: HttpRequest) -> HttpResponse:
    lines = [
        f"<url><loc>{escape(request.build_absolute_uri(path))}</loc></url>"
        for path in _public_paths(ANYONE)
    ]
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        + "\n".join(lines)
        + "\n</urlset>\n"
    )
    return HttpResponse(text, content_type="application/xml; charset=utf-8")


def _public_paths(viewer: Viewer) -> list[str]:
    studies = list_studies(viewer).filter(deleted_at=None)
    names = studies.order_by("pk").values_list("lab__slug", "slug")
    return [
        *(reverse(f"dashboard:{name}") for name in SITE_PAGES),
        *map(hypervisor_url, measured_hypervisors(viewer)),
        *map(work_url, WORK_CLASSES),
        *(machine_url(machine.slug) for machine in visible_machines(viewer)),
        *(reverse("dashboard:study", args=name) for name in names),
    ]


urlpatterns = [
    page("hypervisors/", list_hypervisors, "hypervisors"),
    page(
        "hypervisors/<slug:hypervisor>/",
        show_hypervisor,
        "hypervisor",
        is_private=False,
        query_count_urls=("/hypervisors/xen/",),
    ),
    page("work/", list_works, "works"),
    page(
        "work/<slug:work>/",
        show_work,
        "work",
        is_private=False,
        query_count_urls=("/work/disk-sequential-read/",),
    ),
    page("machines/", list_machines, "machines"),
    page(
        "machines/<slug:machine>/",
        show_machine,
        "machine",
        is_private=False,
    ),
    page("sitemap.xml", show_sitemap, "sitemap", kind="file"),
]
