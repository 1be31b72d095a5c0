"""When two looks at a campaign would see the same: a stamp of its rows."""

from django.db import connection

from benchmarks.models import (
    Campaign,
    Cell,
    Decision,
    Efficiency,
    Flag,
    Host,
    Run,
    System,
)

# PostgreSQL marks each version of a row with the transaction that wrote it (xmin).
# So their number and sum change with every insert, update and delete, whoever does it
# and whether or not the row has a time of its own; nothing has to remember to say so.
WRITTEN = "count(*), coalesce(sum({row}.xmin::text::bigint), 0)"
QUERY = f"""
WITH cells AS (SELECT id, system_id, xmin FROM {Cell._meta.db_table}
               WHERE campaign_id = %(campaign)s),
     flags AS (SELECT id, xmin FROM {Flag._meta.db_table}
               WHERE campaign_id = %(campaign)s),
     systems AS (SELECT id, host_id, xmin FROM {System._meta.db_table}
                 WHERE id IN (SELECT system_id FROM cells))
SELECT {WRITTEN.format(row="it")} FROM {Campaign._meta.db_table} it
    WHERE id = %(campaign)s
UNION ALL SELECT {WRITTEN.format(row="cells")} FROM cells
UNION ALL SELECT {WRITTEN.format(row="flags")} FROM flags
UNION ALL SELECT {WRITTEN.format(row="systems")} FROM systems
UNION ALL SELECT {WRITTEN.format(row="it")} FROM {Host._meta.db_table} it
    WHERE id IN (SELECT host_id FROM systems)
UNION ALL SELECT {WRITTEN.format(row="it")} FROM {Efficiency._meta.db_table} it
    WHERE cell_id IN (SELECT id FROM cells)
UNION ALL SELECT {WRITTEN.format(row="it")} FROM {Decision._meta.db_table} it
    WHERE flag_id IN (SELECT id FROM flags)
UNION ALL SELECT {WRITTEN.format(row="it")} FROM {Run._meta.db_table} it
    WHERE campaign_id = %(campaign)s
"""


def campaign_stamp(campaign: Campaign) -> str:
    """Return a text that changes whenever anything of a campaign does, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(QUERY, {"campaign": campaign.pk})
        return ",".join(f"{count}:{written}" for count, written in cursor.fetchall())
