"""What other labs say to a study's findings, in words."""

from django.utils.translation import gettext_lazy

from benchmarks.evidence.replication import Outcome
from benchmarks.own_tools.lookup import known_tool
from dashboard.wording import Text

OUTCOMES: dict[Outcome, Text] = {
    "confirmed": gettext_lazy("confirmed"),
    "contradicted": gettext_lazy("contradicted"),
    "undecided": gettext_lazy("undecided"),
    "single_runs": gettext_lazy("single runs: decide nothing"),
}


def outcome_name(outcome: Outcome) -> str:
    return str(OUTCOMES[outcome])


def metric_name(tool: str, metric: str) -> str:
    return f"{known_tool(tool).title}: {metric}"
