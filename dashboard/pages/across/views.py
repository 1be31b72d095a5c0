"""Any systems of any studies beside each other."""

from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from benchmarks.comparing.side_by_side import Choice, SideKey, find_side, side_by_side
from benchmarks.comparing.side_pairs import side_pair
from benchmarks.platforms import canonical_hypervisor
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.addresses import id_in
from dashboard.kit.kept import Content, kept_page
from dashboard.kit.routes import page
from dashboard.kit.viewers import person_of, query_of, viewer_of
from dashboard.pages.across.page import across_page
from dashboard.pages.across.pair import pair_page


@require_safe
@kept_page
def show_across(request: HttpRequest) -> Content:
    """Show what was measured on a machine, or for a class of work, by any study."""
    query = query_of(request)
    against = query.get("against", "")
    choice = Choice(
        host=query.get("host", ""),
        work=query.get("work", ""),
        case=id_in(query.get("benchmark", "")) or None,
        hypervisors=frozenset(
            canonical_hypervisor(name)
            for name in request.GET.getlist("hypervisor")
            if name and "\0" not in name
        ),
        guest=query.get("guest", ""),
        against=SideKey.read(against),
        page=id_in(query.get("page", "")) or 1,
    )
    if choice.work and choice.work not in WORK_CLASSES:
        raise Http404(_("There is no such class of work."))
    if against and choice.against is None:
        raise Http404(_("There is no such system."))
    viewer = viewer_of(request)
    found = side_by_side(viewer, choice)
    page = across_page(found, person_of(request))
    return Content("across/across.html", {"page": page})


@require_safe
@kept_page
def show_pair(request: HttpRequest) -> Content:
    """Show two systems case by case; on two machines by their natives alone."""
    viewer, query = viewer_of(request), query_of(request)
    keys = (SideKey.read(query.get(name, "")) for name in ("one", "other"))
    one, other = (find_side(viewer, key) for key in keys)
    return Content("across/pair.html", {"page": pair_page(side_pair(one, other))})


urlpatterns = [
    page(
        "compare/",
        show_across,
        "across",
        walked=("", "?host=all&work=cpu-integer", "?hypervisor=nothing"),
        counted=("/compare/", "/compare/?host=all"),
    ),
    page(
        "compare/direct/",
        show_pair,
        "across-pair",
        walked=("?one={study}-{one}&other={study}-{other}",),
        counted=("/compare/direct/?one={study}-{one}&other={study}-{other}",),
        is_private=True,
    ),
]
