"""Measurements of QEMU machines from their host."""

from collections import Counter
from pathlib import Path
from random import Random

from testbed.host_measurements import HostMeasurement, machine_command, measurements
from testbed.images import Image


def test_each_session_has_every_measurement_in_another_order():
    plan = list(measurements(3, 2, Random("order")))

    assert Counter(task.session for task in plan) == {1: 8, 2: 8, 3: 8}
    assert Counter(task.count for task in plan) == {0: 6, 1: 6, 2: 6, 4: 6}
    orders = {tuple(task.count for task in plan[n : n + 4]) for n in range(0, 24, 4)}
    assert len(orders) > 1


def test_machines_at_once_are_a_parallel_scenario():
    assert "--vms" not in HostMeasurement(1, 1).push_arguments
    assert HostMeasurement(2, 4).push_arguments[:4] == [
        *("--scenario", "parallel", "--vms", "4")
    ]
    assert HostMeasurement(1, 0).arguments[0] == "migrate"


def test_two_machines_of_a_migration_only_read_their_disks():
    image, job = Image(Path("guest")), Path("job.tar")

    alone = " ".join(machine_command(image, job, is_shared=False))
    shared = " ".join(machine_command(image, job, is_shared=True))

    assert "snapshot=on" in alone
    assert "snapshot=on" not in shared
    assert shared.count("readonly=on") == 2
    assert " quiet" not in alone
