"""What was measured and is not yet the spool's: kept until the server has said keep.

    plan-<plan>-slot-<slot>.json     one slot's part, its report and its uploads

A slot that is killed before the answer asks again when it is started again.
"""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from agents.files import forget, text_of, write_durably
from agents.home import home
from agents.spool import Spool

MOST_BYTES = 64 * 1024 * 1024


class Held(NamedTuple):
    """The end of a part, as it is reported, and the uploads of its run."""

    part: int
    report: Dict[str, Any]
    documents: List[Dict[str, Any]]


class Keeping:
    """The file of one slot."""

    def __init__(self, plan: int, slot: int) -> None:
        self.path = os.path.join(home(), "plan-%d-slot-%d.json" % (plan, slot))

    def hold(self, held: Held) -> None:
        """Write it down for good."""
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(self.path, json.dumps(held._asdict()).encode())

    def held(self) -> Optional[Held]:
        """Return what a former life left, if anything whole."""
        text = text_of(self.path, MOST_BYTES)
        try:
            return Held(**json.loads(text)) if text else None
        except (ValueError, TypeError):
            return None

    def keep(self, held: Held, spool: Spool) -> None:
        """Hand the uploads to the spool: saved twice under one key they are one."""
        for document in held.documents:
            spool.save(document)
        self.drop()

    def drop(self) -> None:
        """Forget it."""
        forget(self.path)
