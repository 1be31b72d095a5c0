"""Results of our own lab (`make lab`), as they were uploaded: raw outputs and facts.

Unlike the printed studies they hold repeated runs, so that intervals, verdicts, order
and the trust in clocks are seen from the first start.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.reference.documents import ReferenceStudy

RECORDS: Final = Path(__file__).parent / "data"


def recorded_studies() -> Iterator[ReferenceStudy]:
    """All recorded results, in the order of their files' names."""
    return map(recorded_study, sorted(RECORDS.glob("*.json.xz")))


def recorded_study(path: Path) -> ReferenceStudy:
    """One recorded result; the keys of its runs are those of its agents."""
    content = json.loads(lzma.decompress(path.read_bytes()))
    return ReferenceStudy(
        document=content["study"],
        hosts=tuple(content["hosts"]),
        runs=tuple(content["runs"]),
        reference_system=None,
    )
