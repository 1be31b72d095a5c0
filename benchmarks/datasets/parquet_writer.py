"""`python -m benchmarks.datasets.parquet_writer COLUMNS`: CSV on stdin to Parquet on
stdout.

A separate process, so that web processes never import pyarrow. COLUMNS is JSON: name,
kind and meaning.
"""

import io
import json
import os
import sys
from typing import Any, Final

# Readers load a group into memory at once.
ROW_GROUP_ROWS: Final = 100_000
BLOCK_BYTES: Final = 4 * 1024**2


def write_parquet(
    source: Any, target: Any, columns: list[tuple[str, str, str]]
) -> None:
    """Read the output of PostgreSQL's COPY."""
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
                # COPY quotes an empty text, and omits null.
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
    # Open stdout before anything is printed there by mistake.
    with io.FileIO(1, "w", closefd=False) as output:
        write_parquet(sys.stdin.buffer, output, json.loads(sys.argv[1]))
    # Arrow's reader threads end a normal exit with SIGABRT.
    os._exit(0)
