from django.http import HttpRequest

from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.kit.questions import answered_questions
from dashboard.kit.routes import page
from dashboard.kit.viewers import viewer_of


@cached_page
def show_questions(request: HttpRequest) -> PageContent:
    questions = answered_questions(viewer_of(request))
    return PageContent("questions/questions.html", {"questions": questions})


urlpatterns = [
    page(
        "questions/",
        show_questions,
        "questions",
        query_count_urls=("/questions/",),
    ),
]
