from dataclasses import dataclass


@dataclass(frozen=True)
class Viewer:
    """A person or agent, who can see public studies and those of these labs."""

    lab_ids: frozenset[int] = frozenset()


ANYONE = Viewer()
