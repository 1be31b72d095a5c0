"""Containers: their marks, their namespaces, and marks that were left behind."""

import pytest

from agents.detection.layers import judge

FIRST = "pid:[4026531836]"


@pytest.mark.parametrize(
    ("evidence", "layer"),
    [
        ({"pid1_env_container": ["container=lxc"]}, "lxc"),
        ({"pid1_env_container": ["container_ttys=x", "container=podman"]}, "podman"),
        ({"pid1_env_container": ["container=oci"]}, "container"),
        ({"container_manager": "systemd-nspawn"}, "systemd-nspawn"),
        ({"dockerenv": True}, "docker"),
        ({"containerenv": True}, "podman"),
        ({"proc_vz": True, "proc_bc": False}, "openvz"),
        ({"cgroup1": "1:name=systemd:/lxc/web"}, "lxc"),
        ({"cgroup1": "9:name=systemd:/t-runc"}, "container"),
        ({"cgroup1": "0::/kubepods.slice/kubepods-pod1"}, "kubernetes"),
        ({"pid_namespace": "pid:[4026532201]"}, "container"),
        ({"systemd-detect-virt -c": "container-other"}, "container"),
    ],
)
def test_it_knows_a_container_by_any_mark(evidence, layer):
    assert judge(evidence).layers == (layer,)


@pytest.mark.parametrize(
    "evidence",
    [
        {"proc_vz": True, "proc_bc": True},
        {"cgroup1": "0::/init.scope"},
        {"cgroup1": "4:memory:/some/limit\n0::/"},
        {"pid_namespace": FIRST},
        {"systemd-detect-virt -c": "none"},
    ],
)
def test_a_host_is_no_container(evidence):
    assert judge(evidence).layers == ()


def test_the_name_wins_over_the_nameless_mark():
    evidence = {"pid_namespace": "pid:[4026532201]", "dockerenv": True}

    judgement = judge(evidence)

    assert (judgement.layers, judgement.conflict) == (("docker",), False)


def test_two_managers_of_one_container_are_a_conflict():
    evidence = {"pid1_env_container": ["container=lxc"], "dockerenv": True}

    assert judge(evidence).conflict


def test_a_mark_in_a_machine_booted_from_an_image_is_a_conflict():
    judgement = judge({"dockerenv": True, "pid_namespace": FIRST})

    assert judgement.conflict
    assert "the machine's own" in judgement.sentence


def test_a_distributions_kernel_is_not_gvisors():
    assert judge({"kernel": "4.4.0-21-generic", "clocksource": None}).layers == ()
    assert judge({"kernel": "4.4.0", "clocksource": "tsc"}).layers == ()
    assert judge({"kernel": "4.4.0", "clocksource": None}).layers == ("gvisor",)
