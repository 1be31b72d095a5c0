"""Effects of a system's parameters on its relative performance."""
