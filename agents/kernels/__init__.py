"""Benchmark kernels in C, which the agent carries and compiles."""
