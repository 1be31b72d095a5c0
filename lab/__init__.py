"""Real guests, a container and this machine, measured by the agent: `make lab`."""
