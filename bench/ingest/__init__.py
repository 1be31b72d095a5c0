"""How fast uploads come in and are processed, beside what PostgreSQL allows.

`python -m bench.ingest` prints the figures of `docs/performance.md`.
"""
