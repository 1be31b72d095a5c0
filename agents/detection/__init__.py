"""Detection of this machine: evidence, virtualization layers, and facts."""
