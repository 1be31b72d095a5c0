"""The files of a snapshot are what others cite: nothing may change them any more."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION refuse_change_of_frozen_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The files of a snapshot are frozen: withdraw it instead.';
END $$;
CREATE TRIGGER snapshot_files_are_frozen
    BEFORE UPDATE OR DELETE ON benchmarks_snapshotfile
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_frozen_file();
"""
ALLOW = """
DROP TRIGGER snapshot_files_are_frozen ON benchmarks_snapshotfile;
DROP FUNCTION refuse_change_of_frozen_file();
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0013_snapshots_are_frozen")]
    operations = [migrations.RunSQL(REFUSE, ALLOW)]
