"""`python -m benchmarks.datasets.parquet_writer COLUMNS`: CSV on stdin to Parquet on
stdout.

It runs in a separate process, so that web processes never import pyarrow. COLUMNS is a
JSON list of name, type and description.
"""

import io
import json
import os
import sys
from typing import Any, Final

# Programs that read the file load each group of rows into memory at once.
ROW_GROUP_ROWS: Final = 100_000
BLOCK_BYTES: Final = 4 * 1024**2


def write_parquet(
    source: Any, target: Any, columns: list[tuple[str, str, str]]
) -> None:
    """Convert the output of PostgreSQL's COPY (without header) to Parquet."""
    import pyarrow as arrow
    from pyarrow import csv, parquet

    kinds = {
        "string": arrow.string(),
        "object": arrow.string(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "boolean": arrow.bool_(),
        "datetime": arrow.timestamp("us", tz="UTC"),
    }
    schema = arrow.schema(
        [
            arrow.field(name, kinds[kind], metadata={"description": meaning})
            for name, kind, meaning in columns
        ]
    )
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        first = source.peek(1)
        if not first:
            return
        reader = csv.open_csv(
            source,
            csv.ReadOptions(
                column_names=schema.names, use_threads=False, block_size=BLOCK_BYTES
            ),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                true_values=["t"],
                false_values=["f"],
                strings_can_be_null=True,
                # COPY writes an empty text as "", and null as nothing.
                quoted_strings_can_be_null=False,
            ),
        )
        batches, n = [], 0
        for batch in reader:
            batches.append(batch)
            n += batch.num_rows
            if n >= ROW_GROUP_ROWS:
                writer.write_table(arrow.Table.from_batches(batches, schema))
                batches, n = [], 0
        if batches:
            writer.write_table(arrow.Table.from_batches(batches, schema))


if __name__ == "__main__":
    with io.FileIO(1, "w", closefd=False) as output:
        write_parquet(sys.stdin.buffer, output, json.loads(sys.argv[1]))
    # With a normal exit, Arrow's reader threads may end the process with SIGABRT.
    os._exit(0)
