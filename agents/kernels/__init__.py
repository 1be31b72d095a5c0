"""Our own kernels in C, LINPACK and memory: their sources travel inside the agent."""
