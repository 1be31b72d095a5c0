"""Failed work that notes of the reference studies state. PURE.

Other notes (start times, rounding, means of runs, a penalty for failed builds that is
part of the printed time) do not state that the work of a run failed.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.parsing.failed_work import WorkCount

FAILURE_NOTE: Final = "source prints"
"""A text in all of these notes."""
_DIED: Final = re.compile(r"source prints: (stressor died, [^;]+)")
_NON_2XX: Final = re.compile(r"source prints (\d+) non-2xx responses")


def failure_fields(
    note: str, parameters: Mapping[str, str], *, is_without_work: bool = False
) -> dict[str, Any]:
    """Return the fields of an upload that state the failure of a run, if any.

    ``is_without_work`` means a rate of 0: no operation succeeded.
    """
    if is_without_work:
        return {"failed": "the source states a rate of 0"}
    if died := _DIED.search(note):
        return {"failed": died[1]}
    if not (counted := _NON_2XX.search(note)):
        return {}
    work = WorkCount(int(counted[1]), int(parameters["requests"]))
    fields: dict[str, Any] = {"errors": work.errors, "operations": work.operations}
    if work.is_failed:
        reason = f"{work.errors} of {work.operations} responses were not 2xx"
        fields["failed"] = reason
    return fields
