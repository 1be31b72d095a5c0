"""What is stored as words says study and slot, and flags their new severities."""

from django.db import migrations
from django.utils import timezone

# Sentences are kept with their templates; pages would go on saying the old words.
SENTENCES = {
    "efficiency": "reason",
    "run": "reason",
    "runenergy": "reason",
    "planstep": "reason",
    "publishingjob": "problem",
}
WORDS = {"campaigns": "studies", "campaign": "study", "seats": "slots", "seat": "slot"}
SEVERITIES = {"error": "impossible", "warning": "implausible", "notice": "check"}


DESIGNS = """
UPDATE benchmarks_plan SET
    design = replace(design::text, '"seat', '"slot')::jsonb,
    advice = replace(advice::text, '"seat', '"slot')::jsonb
WHERE design::text LIKE '%"seat%' OR advice::text LIKE '%"seat%'
"""


def sentences(table: str, column: str) -> str:
    text = column
    for old, new in WORDS.items():
        text = rf"regexp_replace({text}, '\m{old}\M', '{new}', 'g')"
    return (
        f"UPDATE benchmarks_{table} SET {column} = {text} "
        rf"WHERE {column} ~ '\m(campaign|seat)s?\M'"
    )


def say_it_anew(apps, schema_editor):
    """Flags get their new severities, and are found again with their new words."""
    flags = apps.get_model("benchmarks", "Flag")
    for old, new in SEVERITIES.items():
        flags.objects.filter(severity=old).update(severity=new)
    checks = apps.get_model("benchmarks", "DueCheck")
    studies = apps.get_model("benchmarks", "Study").objects.values_list("pk", flat=True)
    checks.objects.bulk_create(
        checks(study_id=pk, noted_at=timezone.now()) for pk in studies
    )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0019_campaigns_are_studies")]
    operations = [
        migrations.RunSQL([sentences(*each) for each in SENTENCES.items()]),
        migrations.RunSQL(DESIGNS),
        migrations.RunPython(say_it_anew),
    ]
