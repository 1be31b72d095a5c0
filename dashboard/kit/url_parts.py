from collections.abc import Mapping

from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.models import Study

STUDY_PATH = "studies/<slug:lab>/<slug:slug>/"
LAB_PATH = "labs/<slug:lab>/"
MEMBER_PATH = f"{LAB_PATH}members/<int:person_id>/"


def parse_id(text: str) -> int:
    """Return the ID in a text; return 0, which no object has, for any other text."""
    # 18 digits fit a bigint. isdigit() alone accepts "²", which int() rejects.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def cell_url(study: Study, query: Mapping[str, str]) -> str:
    arguments = [study.lab.slug, study.slug, parse_id(query["cell"])]
    query_text = urlencode(
        {"baseline": query["baseline"]} if "baseline" in query else {}
    )
    return "?".join(
        filter(None, [reverse("dashboard:cell", args=arguments), query_text])
    )


def query_string(query: Mapping[str, str], **changes: str) -> str:
    """Return a query string after ``changes``, without empty parameters."""
    values = {name: text for name, text in {**query, **changes}.items() if text}
    return f"?{urlencode(values)}"


def ignored_parameters(
    query: Mapping[str, str], applied: Mapping[str, object]
) -> tuple[str, ...]:
    """Return the parameters of a query whose values were not applied.

    The result is a tuple such as ``("case=99",)``.
    """
    return tuple(
        f"{name}={query[name]}"
        for name, value in applied.items()
        if query.get(name) and query[name] != str(value)
    )
