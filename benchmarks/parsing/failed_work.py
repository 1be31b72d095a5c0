"""Failed work: runs whose numbers do not measure the work that they name. PURE."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from benchmarks.parsing.tool import ErrorMetrics, Tool
from benchmarks.sentences import Sentence

MAX_ERROR_SHARE: Final = 0.005
"""The largest share of failed operations of a run that counts.

Refused operations cost nearly nothing, so a rate that counts them is too high by the
factor 1 / (1 - share). Above 0.5%, a quarter of the default equivalence margin, this
may change a verdict; below, the parser's warning is enough.
"""


FAILURE_CODES: Final = frozenset(
    {"failed", "residual_check", "wrong_result", "errors", "http_errors"}
)
"""Codes of parser warnings about failed work. A decision that a run has not failed
applies to them as well."""


@dataclass(frozen=True, slots=True)
class WorkCount:
    """The operations that a run attempted, and how many of them failed."""

    errors: int
    operations: int

    @property
    def is_failed(self) -> bool:
        return self.errors > MAX_ERROR_SHARE * self.operations


class Failure(NamedTuple):
    """Why the work of a run failed ("" if it did not), and its counts if known."""

    reason: str = ""
    work: WorkCount | None = None


NO_FAILURE: Final = Failure()


def find_failure(
    document: Mapping[str, Any],
    *,
    stated: str = "",
    parsed: Failure | None = None,
    tool: Tool | None = None,
    values: Iterable[tuple[str, float]] = (),
) -> Failure:
    """Return the failure of a run.

    Reasons and counts of the uploader (``stated`` and ``document``) precede those of
    the parser (``parsed``), and these precede counts among the samples: ``values`` are
    names of metrics and values.
    """
    work = _stated_work(document)
    if work is None and parsed is not None:
        work = parsed.work
    if work is None and tool is not None and tool.error_metrics:
        work = count_work(tool.error_metrics, values)
    reason: str = stated or (parsed.reason if parsed else "")
    if not reason and (code := _exit_code(document)):
        reason = Sentence("The tool ended with the exit code {code}.", code=code)
    if not reason and work is not None and work.is_failed:
        reason = Sentence(
            "{errors:,} of {operations:,} operations failed.",
            errors=work.errors,
            operations=work.operations,
        )
    return Failure(reason, work)


def count_work(
    metrics: ErrorMetrics, values: Iterable[tuple[str, float]]
) -> WorkCount | None:
    """Return None if errors or operations are missing."""
    sums: dict[str, float] = {}
    for metric, value in values:
        sums[metric] = sums.get(metric, 0) + value
    counted = [sums[name] for name in metrics.errors if name in sums]
    operations = sums.get(metrics.operations)
    if metrics.successes in sums and operations is not None:
        counted = [max(sum(counted), operations - sums[metrics.successes])]
    if operations is None or not counted:
        return None
    errors = max(0, round(sum(counted)))
    return WorkCount(errors, max(round(operations), errors))


def _stated_work(document: Mapping[str, Any]) -> WorkCount | None:
    errors = document.get("errors")
    if errors is None:
        return None
    return WorkCount(errors, document["operations"])


def _exit_code(document: Mapping[str, Any]) -> int:
    """Return the exit code that an agent stored with the run; 0 if it has none."""
    execution = document.get("facts", {}).get("execution")
    code = execution.get("exit code") if isinstance(execution, dict) else None
    return code if isinstance(code, int) else 0
