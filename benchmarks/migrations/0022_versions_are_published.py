"""Versions are published: when, by whom, and what is told of one that was not.

Everything is renamed in place. The files of versions keep every byte: in their JSON
`frozen_at` and `frozen_by` stay what they were called on the day.
"""

import json
import re

from django.db import migrations

TRIGGER = """
ALTER TRIGGER version_files_are_frozen ON benchmarks_versionfile
    RENAME TO version_files_never_change;
ALTER FUNCTION refuse_change_of_frozen_file()
    RENAME TO refuse_change_of_version_file;
"""
BACK = """
ALTER FUNCTION refuse_change_of_version_file()
    RENAME TO refuse_change_of_frozen_file;
ALTER TRIGGER version_files_never_change ON benchmarks_versionfile
    RENAME TO version_files_are_frozen;
"""
WORD = re.compile(r"\b(f)reeze\b", re.IGNORECASE)


def renamed(text):
    """Return a text of ours in the new words; a capital stays one."""
    return WORD.sub(lambda word: "Publish" if word[1] == "F" else "publish", text)


def say_problems_anew(apps, schema_editor):
    """Why a version was not published is kept with its template: pages show it."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, problem FROM benchmarks_publishingjob"
            " WHERE problem LIKE '{\"template\": %'"
            r" AND problem ~* '\mfreeze\M'"
        )
        for number, text in cursor.fetchall():
            sentence = json.loads(text)
            # What stands in a sentence is somebody's own and stays.
            for part in ("template", "plural"):
                sentence[part] = renamed(sentence[part])
            cursor.execute(
                "UPDATE benchmarks_publishingjob SET problem = %s WHERE id = %s",
                [json.dumps(sentence), number],
            )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0021_two_speeds_are_bimodal")]
    operations = [
        migrations.RenameField("version", "created_at", "published_at"),
        migrations.RenameField("version", "who", "published_by"),
        migrations.RunSQL(TRIGGER, BACK),
        migrations.RunPython(say_problems_anew, migrations.RunPython.noop),
    ]
