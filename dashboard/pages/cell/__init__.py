"""One cell: its evidence, its charts, its card, and what may be claimed of it."""
