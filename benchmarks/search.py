"""Search in visible studies, systems, hosts, benchmarks and labs, and in given texts.

Corrections of misspelled words do not use pg_trgm, which the PostgreSQL of `make run`
lacks.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db import connection
from django.db.models import Func, OuterRef, QuerySet, Subquery, TextField, Value

from benchmarks.labs.lab_queries import labs_with_counts
from benchmarks.models import Case, Cell, Host, Study, System
from benchmarks.studies.lookup import list_studies
from benchmarks.viewer import Viewer

MAX_RESULTS: Final = 20
MAX_WORDS: Final = 8
MAX_WORD_LENGTH: Final = 60
MAX_VOCABULARY: Final = 20_000
MIN_SIMILARITY: Final = 0.75
"""The similarity (`difflib`) from which a known word corrects an unknown one."""
_WORD = re.compile(r"[^\W_]+")
STUDY_COLUMNS: Final = (
    "title",
    "slug",
    "author",
    "institution",
    "published",
    "lab__name",
)
SYSTEM_SEARCH_COLUMNS: Final = (
    *("hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("host__slug", "host__title", "options"),
)
HOST_COLUMNS: Final = ("slug", "title", "lab__name")
CASE_COLUMNS: Final = ("tool", "metric", "label")
LAB_COLUMNS: Final = ("name", "slug")


@dataclass(frozen=True)
class SearchResults:
    """Matching objects by kind, best first.

    ``has_more`` contains the kinds with more matches than are listed.
    """

    studies: list[Study]
    systems: list[tuple[System, Study]]
    hosts: list[Host]
    benchmarks: list[tuple[Case, Study]]
    labs: list[Any]
    has_more: frozenset[str]

    @property
    def count(self) -> int:
        return (
            len(self.studies)
            + len(self.systems)
            + len(self.hosts)
            + len(self.benchmarks)
            + len(self.labs)
        )


def search_results(viewer: Viewer, text: str) -> SearchResults | None:
    """A word matches every word that it begins. Return None without words."""
    words = entered_words(text)
    if not words:
        return None
    query = search_query(words)
    rows: dict[str, list[Any]] = {
        "studies": ranked_matches(list_studies(viewer), query, *STUDY_COLUMNS),
        "systems": ranked_matches(
            newest_studies_of(System.objects.select_related("host"), "system", viewer),
            query,
            *SYSTEM_SEARCH_COLUMNS,
        ),
        "hosts": ranked_matches(
            Host.objects.visible_to(viewer).select_related("lab"), query, *HOST_COLUMNS
        ),
        "benchmarks": _benchmarks(viewer, words),
        "labs": ranked_matches(labs_with_counts(viewer), query, *LAB_COLUMNS),
    }
    has_more = frozenset(
        name for name, matches in rows.items() if len(matches) > MAX_RESULTS
    )
    listed = {name: matches[:MAX_RESULTS] for name, matches in rows.items()}
    ids = {row.study_id for name in ("systems", "benchmarks") for row in listed[name]}
    studies = list_studies(viewer).in_bulk(ids)
    for name in ("systems", "benchmarks"):
        listed[name] = [(row, studies[row.study_id]) for row in listed[name]]
    return SearchResults(**listed, has_more=has_more)


TEXTS_SQL: Final = """
with topic as (
  select place, title, setweight(to_tsvector('simple', title), 'A')
    || setweight(to_tsvector('english', title), 'A')
    || setweight(to_tsvector('simple', more), 'D')
    || setweight(to_tsvector('english', more), 'D') as words
  from unnest(%(titles)s::text[], %(more)s::text[])
    with ordinality as topic (title, more, place)
), entered as (select {query} as words)
select place from topic, entered where topic.words @@ entered.words
order by ts_rank(topic.words, entered.words) desc, length(title), place limit %(most)s
"""


def entered_words(text: str) -> list[str]:
    words = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(text.casefold())]
    return words[:MAX_WORDS]


def matching_texts(
    words: Sequence[str],
    titles: Sequence[str],
    keywords: Sequence[str],
    *,
    most: int,
    any_word: bool = False,
) -> list[int]:
    """Return positions, best first.

    A word matches every word that it begins, and its inflected forms.
    """
    one = "(to_tsquery('simple', %(p{0})s) || plainto_tsquery('english', %(w{0})s))"
    joined = (" || " if any_word else " && ").join(map(one.format, range(len(words))))
    parameters: dict[str, Any] = {"titles": titles, "more": keywords, "most": most}
    for number, word in enumerate(words):
        parameters |= {f"p{number}": f"{word}:*", f"w{number}": word}
    with connection.cursor() as cursor:
        cursor.execute(TEXTS_SQL.format(query=joined), parameters)
        return [place - 1 for (place,) in cursor.fetchall()]


def search_query(words: Sequence[str]) -> SearchQuery:
    query = " & ".join(f"{word}:*" for word in words)
    return SearchQuery(query, config="simple", search_type="raw")


def _benchmarks(viewer: Viewer, words: Sequence[str]) -> list[Any]:
    """Return benchmarks that match all words.

    If there are none, return those that match some words and were measured on systems
    that match the others.
    """
    cases = Case.objects.all()
    matches = ranked_matches(
        newest_studies_of(cases, "case", viewer), search_query(words), *CASE_COLUMNS
    )
    if matches or len(words) < 2:
        return matches
    measured = Cell.objects.visible_to(viewer).filter(n__gt=0).values("system")
    about = ("pk", "hypervisor", "hypervisor_version", "virtualization", "guest_os")
    systems: dict[frozenset[str], list[int]] = {}
    for pk, *texts in System.objects.filter(pk__in=measured).values_list(*about):
        candidate_words = _WORD.findall(" ".join(texts).casefold())
        matched_words = {
            word
            for word in words
            if any(candidate.startswith(word) for candidate in candidate_words)
        }
        systems.setdefault(frozenset(matched_words), []).append(pk)
    best_match = max(systems, key=len, default=frozenset())
    remaining = [word for word in words if word not in best_match]
    if not best_match or not remaining:
        return []
    benchmark_rows = newest_studies_of(
        cases, "case", viewer, system__in=systems[best_match]
    )
    return ranked_matches(benchmark_rows, search_query(remaining), *CASE_COLUMNS)


def corrected_query(viewer: Viewer, text: str, other_texts: Iterable[str] = ()) -> str:
    """Return the text with unknown words replaced by similar words of visible objects,
    or of other texts.

    Return "" if nothing was replaced, or a word has no replacement.
    """
    entered = entered_words(text)
    measured = Cell.objects.visible_to(viewer).filter(n__gt=0)
    kinds: tuple[tuple[QuerySet[Any], Sequence[str]], ...] = (
        (list_studies(viewer), STUDY_COLUMNS),
        (
            System.objects.filter(pk__in=measured.values("system")),
            SYSTEM_SEARCH_COLUMNS,
        ),
        (Host.objects.visible_to(viewer), HOST_COLUMNS),
        (Case.objects.filter(pk__in=measured.values("case")), CASE_COLUMNS),
        (labs_with_counts(viewer), LAB_COLUMNS),
    )
    vocabulary: set[str] = set()
    for text in other_texts:
        vocabulary.update(_WORD.findall(text.casefold()))
    for rows, names in kinds:
        for row in rows.order_by().values_list(*names)[:MAX_VOCABULARY]:
            for value in row:
                vocabulary.update(_WORD.findall(str(value).casefold()))
    words = []
    for word in entered:
        replacement = [word]
        if not any(known_word.startswith(word) for known_word in vocabulary):
            replacement = get_close_matches(
                word, vocabulary, n=1, cutoff=MIN_SIMILARITY
            )
        words += replacement
    return " ".join(words) if len(words) == len(entered) and words != entered else ""


def newest_studies_of(
    rows: QuerySet[Any], name: str, viewer: Viewer, **filters: Any
) -> QuerySet[Any]:
    """Annotate rows with the newest study that has visible cells of them.

    The annotation is ``study_id``. Rows without visible cells are omitted.
    """
    filters[name] = OuterRef("pk")
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0, **filters)
    newest = cells.order_by("-study_id").values("study_id")[:1]
    measured: QuerySet[Any] = rows.annotate(study_id=Subquery(newest))
    return measured.filter(study_id__isnull=False)


def ranked_matches(rows: QuerySet[Any], query: SearchQuery, *names: str) -> list[Any]:
    text = Func(Value(" "), *names, function="concat_ws", output_field=TextField())
    # Without punctuation: PostgreSQL would see a negative number in "lmu-2010-xen".
    words = Func(
        *(text, Value("[^[:alnum:]]+"), Value(" "), Value("g")),
        function="regexp_replace",
        output_field=TextField(),
    )
    vector = SearchVector(words, config="simple")
    matching = rows.annotate(found_in=vector).filter(found_in=query)
    ranked = matching.annotate(rank=SearchRank(vector, query)).order_by("-rank", "-pk")
    return list(ranked[: MAX_RESULTS + 1])
