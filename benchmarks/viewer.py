"""Who is asking: every query is scoped to a viewer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewer:
    """Somebody who sees public studies and those of these labs."""

    lab_ids: frozenset[int] = frozenset()


ANYONE = Viewer()
