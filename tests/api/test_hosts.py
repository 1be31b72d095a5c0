"""/api/v1/hosts/: physical machines."""

import pytest

from benchmarks.models import Host

MACHINE = {
    "slug": "lmu-athlon64-x2-4800",
    "title": "Athlon 64 X2 4800+",
    "facts": {"cores": 2, "memory": {"dimms": [1024, 1024]}, "note": "DDR2\n800"},
}


def test_it_registers_a_host(api, lab):
    answer = api.post("hosts/", MACHINE)

    host = Host.objects.get()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"http://testserver/api/v1/hosts/{host.pk}/"
    assert answer.json() == {
        **MACHINE,
        "id": host.pk,
        "url": answer.headers["Location"],
        "lab": "alpha-lab",
        "created_at": answer.json()["created_at"],
    }
    assert host.lab == lab


def test_the_same_host_again_is_200(api):
    first = api.post("hosts/", MACHINE)

    again = api.post("hosts/", MACHINE)

    assert (again.status_code, again.json()) == (200, first.json())


def test_the_same_slug_with_other_facts_is_409(api):
    api.post("hosts/", MACHINE)

    answer = api.post("hosts/", {**MACHINE, "facts": {"cores": 4}})

    assert (answer.status_code, answer.json()["code"]) == (409, "host_exists")
    assert Host.objects.get().facts["cores"] == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"slug": "../etc"}, "slug"),
        ({"facts": [1]}, "facts"),
        ({"facts": "cores=2"}, "facts"),
        ({"facts": None}, "facts"),
        ({"facts": {"dmesg": "x" * 300_000}}, "facts"),
        ({"fact": {}}, "fact"),
        ({"title": ["x"]}, "title"),
    ],
)
def test_it_refuses_a_bad_value_and_stores_nothing(api, changes, field):
    answer = api.post("hosts/", {**MACHINE, **changes})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not Host.objects.exists()


def test_a_host_is_seen_by_its_lab_alone(anyone, reader, host):
    assert reader.get(f"hosts/{host.pk}/").json()["slug"] == "alpha"
    assert anyone.get(f"hosts/{host.pk}/").status_code == 404
    assert anyone.get("hosts/").json()["results"] == []


def test_a_host_that_a_public_study_measured_is_seen_by_all(anyone, host, measured):
    assert anyone.get(f"hosts/{host.pk}/").status_code == 200
    assert [each["slug"] for each in anyone.get("hosts/").json()["results"]] == [
        "alpha"
    ]


@pytest.mark.parametrize("pk", [999, 2**63 - 1, 2**63, 10**30])
def test_a_missing_host_is_404(anyone, db, pk):
    assert anyone.get(f"hosts/{pk}/").status_code == 404
