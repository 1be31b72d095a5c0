"""/hosts/: physical machines."""

import pytest

from benchmarks.models import Host, Job
from benchmarks.redis_connection import connection

UNAME = "Linux name 6.1.0 #1 SMP Debian x86_64 GNU/Linux"
MACHINE = {
    "slug": "lmu-athlon64-x2-4800",
    "title": "Athlon 64 X2 4800+",
    "facts": {"cores": 2, "memory": {"dimms": [1024, 1024]}, "note": "DDR2\n800"},
}


def test_hosts_can_be_registered(api, lab):
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


def test_identical_hosts_are_200(api):
    first = api.post("hosts/", MACHINE)

    again = api.post("hosts/", MACHINE)

    assert (again.status_code, again.json()) == (200, first.json())


def test_existing_slugs_with_other_facts_are_409(api):
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
def test_invalid_hosts_are_rejected(api, changes, field):
    answer = api.post("hosts/", {**MACHINE, **changes})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not Host.objects.exists()


def test_hosts_are_visible_to_their_lab_only(anyone, reader, host):
    assert reader.get(f"hosts/{host.pk}/").json()["slug"] == "alpha"
    assert anyone.get(f"hosts/{host.pk}/").status_code == 404
    assert anyone.get("hosts/").json()["results"] == []


def test_hosts_of_public_studies_are_public(anyone, host, measured):
    assert anyone.get(f"hosts/{host.pk}/").status_code == 200
    assert [row["slug"] for row in anyone.get("hosts/").json()["results"]] == ["alpha"]


@pytest.mark.parametrize("pk", [999, 2**63 - 1, 2**63, 10**30])
def test_unknown_hosts_are_404(anyone, db, pk):
    assert anyone.get(f"hosts/{pk}/").status_code == 404


def test_only_their_lab_can_change_facts(api, stranger, host, measured):
    Job.objects.all().delete()

    refused = stranger.patch(f"hosts/{host.pk}/", {"facts": {"cores": 1}})
    answer = api.patch(f"hosts/{host.pk}/", {"facts": {"cores": 4}})

    assert (refused.status_code, answer.status_code) == (404, 200)
    assert answer.json()["facts"] == {"cores": 4}
    assert Job.objects.count() == 1  # flags depend on the facts of hosts


def test_facts_are_read_from_output(anyone, db):
    answer = anyone.post("parse/machine/", {"output": UNAME})

    assert answer.status_code == 200
    assert answer.json() == {
        "facts": {"kernel": "6.1.0", "architecture": "x86_64"},
        "programs": ["uname"],
        "warnings": [],
    }
    assert not Host.objects.exists()


def test_machine_previews_share_the_quota_of_previews(anyone, settings, valkey):
    settings.PREVIEWS_PER_MINUTE = 1
    for key in connection().scan_iter("quota:previews:*"):
        connection().delete(key)
    assert anyone.post("parse/machine/", {"output": UNAME}).status_code == 200

    answer = anyone.post("parse/machine/", {"output": UNAME})

    assert (answer.status_code, answer.json()["code"]) == (429, "too_fast")
    assert 0 < int(answer["Retry-After"]) <= 60
