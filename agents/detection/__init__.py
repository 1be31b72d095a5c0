"""Detection of this machine: evidence, layers of virtualization, and facts."""
