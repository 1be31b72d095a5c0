"""Real guests, a container and this machine, measured by the agent: `make testbed`."""


class TestbedError(Exception):
    """The message has the remedy."""
