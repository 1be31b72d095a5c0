"""/systems/: systems under test."""

import pytest

from benchmarks.models import System

GUEST = {
    "host": "alpha",
    "hypervisor": "Xen",
    "hypervisor_version": "3.3",
    "virtualization": "full",
    "guest_os": "Ubuntu Server 9.04",
    "guest_bits": 32,
    "vcpus": 1,
    "memory_bytes": 1073741824,
    "options": {"hw_virt": "on"},
}


def test_systems_can_be_registered(api, host):
    answer = api.post("systems/", GUEST)

    system = System.objects.get()
    assert answer.status_code == 201
    assert answer.json() == {
        **GUEST,
        "id": system.pk,
        "url": f"http://testserver/api/v1/systems/{system.pk}/",
        "lab": "alpha-lab",
        "label": system.label,
        "host_id": host.pk,
        "is_emulated": False,
        "is_nested": False,
        "platform_warning": "",
        "created_at": answer.json()["created_at"],
    }


def test_identical_systems_in_another_spelling_are_200(api, host):
    first = api.post("systems/", GUEST)

    again = api.post(
        "systems/", {**GUEST, "hypervisor": "xen", "virtualization": "HVM"}
    )

    assert (again.status_code, again.json()) == (200, first.json())


def test_unknown_hypervisors_get_a_warning(api, host):
    answer = api.post("systems/", {**GUEST, "hypervisor": "Foovisor"})

    assert (answer.status_code, answer.json()["hypervisor"]) == (201, "Foovisor")
    assert answer.json()["platform_warning"].startswith(
        '"Foovisor" is not a known platform'
    )


def test_qemu_without_kvm_is_emulated_in_any_spelling(api, host):
    stated = {"hypervisor": "QEMU", "hypervisor_version": "TCG, no KVM"}
    first = api.post("systems/", {**GUEST, **stated})
    again = api.post(
        "systems/", {**GUEST, "hypervisor": "qemu-tcg", "hypervisor_version": ""}
    )

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["hypervisor"] == "QEMU TCG"
    assert first.json()["is_emulated"] is True


def test_host_and_hypervisor_are_sufficient(api, host):
    answer = api.post("systems/", {"host": "alpha", "hypervisor": "native"})

    assert answer.status_code == 201
    assert answer.json()["guest_bits"] is None


def test_unknown_hosts_are_422_with_instructions(api, host):
    answer = api.post("systems/", {**GUEST, "host": "alhpa"})

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_host")
    assert "POST /api/v1/hosts/" in answer.json()["detail"]


def test_hosts_of_other_labs_are_unknown(stranger, host):
    answer = stranger.post("systems/", GUEST)

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_host")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"guest_bits": 16}, "guest_bits"),
        ({"guest_bits": "32"}, "guest_bits"),
        ({"vcpus": 0}, "vcpus"),
        ({"vcpus": 2.0}, "vcpus"),
        ({"memory_bytes": -1}, "memory_bytes"),
        ({"memory_bytes": True}, "memory_bytes"),
        ({"options": {"a": None}}, "options.a"),
        ({"options": {"a": ["x"]}}, "options.a"),
        ({"options": []}, "options"),
        ({"hypervisor": ""}, "hypervisor"),
        ({"hypervisor": 5}, "hypervisor"),
        ({"hipervisor": "Xen"}, "hipervisor"),
    ],
)
def test_invalid_systems_are_rejected(api, host, changes, field):
    answer = api.post("systems/", {**GUEST, **changes})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not System.objects.exists()


def test_systems_can_be_filtered(anyone, measured):
    def count(**query):
        return len(anyone.get("systems/", **query).json()["results"])

    assert count(study="study", host="alpha") == 2
    assert count(host="beta") == 0
    assert anyone.get("systems/", study="missing").status_code == 404


def test_systems_are_visible_to_their_lab_only(api, anyone, reader, host):
    pk = api.post("systems/", GUEST).json()["id"]

    assert reader.get(f"systems/{pk}/").status_code == 200
    assert anyone.get(f"systems/{pk}/").status_code == 404
    assert anyone.get("systems/").json()["results"] == []
