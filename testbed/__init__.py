"""`make testbed`: measure real guests, a container and this machine with the agent."""


class TestbedError(Exception):
    """A reason why the testbed cannot run or go on; the message has the remedy."""
