"""Which rows of a comparison a search leaves; `row-search.js` does the same at once."""

from benchmarks.comparing.table import CaseGroup, CaseRow
from dashboard import wording


def is_found(q: str, group: CaseGroup, row: CaseRow) -> bool:
    """Whether every word that is searched for stands in a row's or group's heading."""
    if not q:
        return True
    facts = [wording.fact_text(fact) for fact in (*group.facts, *row.facts)]
    component = wording.component_name(group.component)
    said = " ".join([component, group.tool, group.label, row.label, *facts]).casefold()
    return all(word in said for word in q.casefold().split())
