"""Real guests, a container and this machine, measured by the agent: `make lab`."""


class LabError(Exception):
    """The lab cannot go on, or a system failed; the sentence says what to do."""
