"""Systems of different studies side by side, and pairs of systems."""
