"""Two systems against each other."""

from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Answer, Content, kept_study_page
from dashboard.kit.routes import DAYS, REDIRECT, page
from dashboard.kit.selections import chooser
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.direct.page import direct_page


@require_safe
# A browser keeps the whole page and the part of one address apart.
@vary_on_headers("HX-Request", "HX-Target")
@kept_study_page
def show_direct(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show two systems case by case; the comparison of all where not two are pinned."""
    study = study_or_404(viewer_of(request), lab, slug)
    choice = chooser(study, query_of(request))
    if not choice.is_direct:
        whole = reverse("dashboard:compare", args=[lab, slug])
        return redirect(f"{whole}?{request.GET.urlencode()}")
    is_part = request.headers.get("HX-Target") == "comparison"
    template = "_direct.html" if is_part else "direct.html"
    context = {"study": study, "page": direct_page(study, choice)}
    return Content(f"direct/{template}", context)


urlpatterns = [
    page(
        f"{STUDY}direct/",
        show_direct,
        "direct",
        walked=("?pin={one},{other}", f"{DAYS}direct/?pin={{guest}},{{machine}}"),
        counted=("direct/?pin={one},{other}",),
        # With one system it redirects to the comparison.
        own=REDIRECT,
        ids=("pin={system}",),
    )
]
