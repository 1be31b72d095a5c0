from django.db import migrations

# Deleting an account unlinks its entries, which keep its name.
FORWARDS = """
CREATE FUNCTION refuse_change_of_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Entries of the audit log never change.';
END $$;
CREATE TRIGGER audit_entries_never_change
    BEFORE UPDATE ON benchmarks_auditentry FOR EACH ROW
    WHEN (NEW.person_id IS NOT NULL
          OR to_jsonb(OLD) - 'person_id' <> to_jsonb(NEW) - 'person_id')
    EXECUTE FUNCTION refuse_change_of_audit_log();
CREATE TRIGGER audit_entries_are_not_deleted
    BEFORE DELETE ON benchmarks_auditentry
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_log();
"""
BACKWARDS = """
DROP TRIGGER audit_entries_never_change ON benchmarks_auditentry;
DROP TRIGGER audit_entries_are_not_deleted ON benchmarks_auditentry;
DROP FUNCTION refuse_change_of_audit_log();
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0011_token_bundle_key")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
