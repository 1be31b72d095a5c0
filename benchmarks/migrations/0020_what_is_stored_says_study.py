"""What is stored as words says study and slot, and flags their new severities."""

import json
import re

from django.db import migrations
from django.utils import timezone

# Sentences are kept with their templates; pages would go on saying the old words.
SENTENCES = (
    ("efficiency", "cell_id", "reason"),
    ("run", "id", "reason"),
    ("runenergy", "id", "reason"),
    ("planstep", "id", "reason"),
    ("publishingjob", "id", "problem"),
)
WORDS = {"campaigns": "studies", "campaign": "study", "seats": "slots", "seat": "slot"}
WORD = re.compile(r"\b(?:campaign|seat)s?\b", re.IGNORECASE)
SEVERITIES = {"error": "impossible", "warning": "implausible", "notice": "check"}
RULE = {"seats-do-not-add-up": "slots-do-not-add-up"}


def renamed(text):
    """Return a text of ours in the new words; a capital stays one."""

    def new(found):
        word = WORDS[found[0].lower()]
        return word.capitalize() if found[0][0].isupper() else word

    return WORD.sub(new, text)


def sentence(part):
    """Return a stored sentence with its templates in the new words.

    What stands in them is somebody's own: a host called "seat-4" keeps its name, and a
    line of a tool's output its words.
    """
    if not (isinstance(part, dict) and "template" in part):
        return part
    parameters = part["parameters"].items()
    return {
        "template": renamed(part["template"]),
        "plural": renamed(part["plural"]),
        "parameters": {renamed(name): sentence(each) for name, each in parameters},
    }


def say_sentences_anew(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        for table, key, column in SENTENCES:
            cursor.execute(
                f"SELECT {key}, {column} FROM benchmarks_{table}"
                f" WHERE {column} LIKE '{{\"template\": %'"
                rf" AND {column} ~* '\m(campaign|seat)s?\M'"
            )
            cursor.executemany(
                f"UPDATE benchmarks_{table} SET {column} = %s WHERE {key} = %s",
                [
                    (json.dumps(sentence(json.loads(text))), number)
                    for number, text in cursor.fetchall()
                ],
            )


def plan_slots(apps, schema_editor):
    plans = apps.get_model("benchmarks", "Plan").objects
    for plan in plans.only("design").iterator():
        for system in plan.design.get("systems", ()):
            if "seats" in system:
                system["slots"] = system.pop("seats")
        plan.save(update_fields=["design"])


def say_flags_anew(apps, schema_editor):
    """Flags get their new severities, and are found again with their new words."""
    flags = apps.get_model("benchmarks", "Flag")
    for old, new in SEVERITIES.items():
        flags.objects.filter(severity=old).update(severity=new)
    for old, new in RULE.items():
        flags.objects.filter(rule=old).update(rule=new)
    checks = apps.get_model("benchmarks", "DueCheck")
    studies = apps.get_model("benchmarks", "Study").objects.values_list("pk", flat=True)
    checks.objects.bulk_create(
        checks(study_id=pk, noted_at=timezone.now()) for pk in studies
    )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0019_campaigns_are_studies")]
    operations = [
        migrations.RunPython(say_sentences_anew),
        migrations.RunPython(plan_slots),
        migrations.RunPython(say_flags_anew),
    ]
