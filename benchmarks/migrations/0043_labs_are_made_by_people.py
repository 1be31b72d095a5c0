"""The audit log says who made a lab."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0042_studies_are_shared_and_archived")]
    operations = [
        migrations.AlterField(
            "auditentry",
            "kind",
            models.CharField(
                max_length=20,
                choices=[
                    ("made_lab", "Made Lab"),
                    ("invited", "Invited"),
                    ("withdrew", "Withdrew"),
                    ("joined", "Joined"),
                    ("changed_role", "Changed Role"),
                    ("removed", "Removed"),
                    ("left", "Left"),
                    ("issued", "Issued"),
                    ("revoked", "Revoked"),
                    ("corrected_session", "Corrected Session"),
                    ("declared_tool", "Declared Tool"),
                    ("changed_tool", "Changed Tool"),
                    ("retired_tool", "Retired Tool"),
                    ("revived_tool", "Revived Tool"),
                    ("deleted_tool", "Deleted Tool"),
                    ("changed_visibility", "Changed Visibility"),
                    ("deleted_study", "Deleted Study"),
                    ("deleted_runs", "Deleted Runs"),
                    ("deleted_account", "Deleted Account"),
                ],
            ),
        )
    ]
