"""`python -m benchmarks.datasets.packing COLUMNS`: CSV of stdin as Parquet on stdout.

A process of its own, so that a web process never imports pyarrow, keeps what it takes,
or waits for it. COLUMNS is JSON: name, kind and meaning of each.
"""

import io
import json
import os
import sys
from typing import Any, Final

# Rows of a group: what readers take into memory at once.
GROUP: Final = 100_000
BLOCK_BYTES: Final = 4 * 1024**2


def pack(source: Any, target: Any, columns: list[tuple[str, str, str]]) -> None:
    """Write rows without a head, as PostgreSQL's COPY writes them."""
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
                # COPY quotes an empty text, and leaves out what there is none of.
                quoted_strings_can_be_null=False,
            ),
        )
        batches, n = [], 0
        for batch in reader:
            batches.append(batch)
            n += batch.num_rows
            if n >= GROUP:
                writer.write_table(arrow.Table.from_batches(batches, schema))
                batches, n = [], 0
        if batches:
            writer.write_table(arrow.Table.from_batches(batches, schema))


if __name__ == "__main__":
    # Before anything is printed there by mistake.
    with io.FileIO(1, "w", closefd=False) as output:
        pack(sys.stdin.buffer, output, json.loads(sys.argv[1]))
    # Arrow's reading threads end a normal exit with SIGABRT.
    os._exit(0)
