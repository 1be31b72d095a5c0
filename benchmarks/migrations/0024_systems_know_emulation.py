"""Systems know whether a program imitates their processor; platforms have one name.

What was stored under a spelling that is known by now gets the name of the vocabulary,
unless the system is stored under that name as well: then both stay, for runs lean on
them.
"""

from django.db import migrations, models

from benchmarks.fingerprints import SystemDescription, system_fingerprint
from benchmarks.platforms import canonical_platform, is_emulation

# Whatever a person called the system: an agent saw an imitated processor there.
DETECTED = """
    UPDATE benchmarks_system SET is_emulated = true
    WHERE id IN (
        SELECT system_id FROM benchmarks_run
        WHERE facts #> '{platform,layers}' @> '["qemu-tcg"]'
    )
"""


def name_platforms(apps, schema_editor):
    """Store each system's platform in the words of the vocabulary."""
    systems = apps.get_model("benchmarks", "System").objects
    for system in systems.select_related("host").iterator():
        stated = (
            system.hypervisor,
            system.hypervisor_version,
            system.virtualization,
        )
        platform = canonical_platform(*stated)
        is_emulated = is_emulation(*platform, system.options)
        if (platform, is_emulated) == (stated, False):
            continue
        fingerprint = system_fingerprint(
            SystemDescription(
                host=system.host.slug,
                hypervisor=platform.hypervisor,
                hypervisor_version=platform.version,
                virtualization=platform.virtualization,
                guest_os=system.guest_os,
                guest_bits=system.guest_bits,
                vcpus=system.vcpus,
                memory_bytes=system.memory_bytes,
                options=system.options,
            )
        )
        others = systems.filter(lab=system.lab_id, fingerprint=fingerprint)
        changes = {"is_emulated": is_emulated}
        if not others.exclude(pk=system.pk).exists():
            changes |= {
                "hypervisor": platform.hypervisor,
                "hypervisor_version": platform.version,
                "virtualization": platform.virtualization,
                "fingerprint": fingerprint,
            }
        systems.filter(pk=system.pk).update(**changes)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0023_jobs_are_requested")]
    operations = [
        migrations.AddField(
            "system", "is_emulated", models.BooleanField(default=False)
        ),
        migrations.RunPython(name_platforms, migrations.RunPython.noop),
        migrations.RunSQL(DETECTED, migrations.RunSQL.noop),
    ]
