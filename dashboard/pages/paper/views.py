"""A study for a paper: its page, and each of its files."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.exports.citation import citation_of
from dashboard.exports.paper.chart import CHART_FORMS, WIDTHS
from dashboard.exports.pictures import Wanted, attached, picture_answer
from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import BARE, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.paper.page import chosen_paper, paper_page

TEXTS = ("table.tex", "methods.tex", "methods.txt", "study.bib", "numbers.csv")
CHARTS = {
    f"chart-{inches}in.{form}": (inches, form)
    for inches in WIDTHS
    for form in CHART_FORMS
}
ARCHIVE = "paper.zip"


@kept_study_page
def show_paper(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what a paper takes of a study, and let rows, columns, digits be chosen."""
    study = study_or_404(viewer_of(request), lab, slug)
    page = paper_page(chosen_paper(request, study), query_of(request))
    query = request.GET.urlencode()
    context = {
        "study": study,
        "page": page,
        "query": query,
        "texts": TEXTS,
        "charts": tuple(CHARTS),
        "archive": ARCHIVE,
    }
    return Content("paper/paper.html", context)


def export_paper(request: HttpRequest, lab: str, slug: str, form: str) -> HttpResponse:
    """Hand out one file of a paper; a worker draws charts and packs the archive."""
    study = study_or_404(viewer_of(request), lab, slug)
    if form not in (*TEXTS, *CHARTS, ARCHIVE):
        raise Http404(_("There is no such file."))
    paper = chosen_paper(request, study)
    name, ending = form.rsplit(".", 1)
    if form in TEXTS:
        text = paper.texts(citation_of(request, study))[form]
        return attached(f"{slug}-{name}", ending, text)
    chart = None if paper.no_chart else paper.chart
    if form in CHARTS:
        if chart is None:
            raise Http404(paper.no_chart)
        drawn = {**chart, "inches": CHARTS[form][0]}
        title = _("Drawing the chart")
    else:
        texts = paper.texts(citation_of(request, study))
        drawn = {"kind": "archive", "texts": texts, "chart": chart}
        title = _("Packing the files for a paper")
    back = reverse("dashboard:paper", args=[lab, slug])
    wanted = Wanted(
        drawn=drawn,
        form=ending,
        name=f"{slug}-{name}",
        title=title,
        about=study.title,
        back=f"{back}?{request.GET.urlencode()}",
    )
    return picture_answer(request, wanted)


urlpatterns = [
    page(
        f"{STUDY}paper/",
        show_paper,
        "paper",
        walked=("", "?system={one}&digits=3&width=page", f"{BARE}paper/"),
        counted=("paper/", "paper/?system={system}"),
        ids=("system={system}", "case={case}", "baseline={system}"),
    ),
    page(
        f"{STUDY}paper/<str:form>",
        export_paper,
        "paper-file",
        kind="file",
        counted=("paper/table.tex", "paper/methods.txt?digits=2"),
        ids=("system={system}&case={case}",),
    ),
]
