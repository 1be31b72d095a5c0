"""What this machine can do at best, measured with nothing of ours in between."""

import time

import psycopg

ROW_BYTES = 700  # about what one upload of a few samples weighs


def commits_per_s(url: str, count: int = 300) -> float:
    """Return how many single-row transactions PostgreSQL makes durable in a second."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS bench_limit")
        connection.execute("CREATE TABLE bench_limit (body text)")
        begun = time.perf_counter()
        for _ in range(count):
            connection.execute("INSERT INTO bench_limit VALUES (%s)", ["x" * ROW_BYTES])
        elapsed_s = time.perf_counter() - begun
        connection.execute("DROP TABLE bench_limit")
    return count / elapsed_s


def copied_rows_per_s(url: str, count: int = 20_000) -> float:
    """Return how many rows of one upload's size COPY stores in a second."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bench_limit (body text)")
        begun = time.perf_counter()
        with connection.cursor().copy("COPY bench_limit FROM STDIN") as copy:
            for _ in range(count):
                copy.write_row(["x" * ROW_BYTES])
        connection.commit()
        elapsed_s = time.perf_counter() - begun
        connection.execute("DROP TABLE bench_limit")
        connection.commit()
    return count / elapsed_s
