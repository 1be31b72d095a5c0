"""The page of a study's co-runs."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.coruns.page import corun_page


@kept_study_page
def show_coruns(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what several VMs of a study did together."""
    study = study_or_404(viewer_of(request), lab, slug)
    page = corun_page(study, query_of(request))
    return Content("coruns/coruns.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}co-runs/",
        show_coruns,
        "coruns",
        ids=("case={case}",),
        tab=Tab(gettext_lazy("Co-runs"), 30, needs="has_coruns"),
    ),
]
