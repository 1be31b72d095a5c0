"""/archives/: preview and import of an archive whose folders are systems."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchmarks.models import Host, Run, Study, System

DATA = Path(__file__).parents[1] / "data"
CPU = (DATA / "sysbench" / "cpu-1thread.txt").read_bytes()
DISK = (DATA / "fio" / "randread-4k-json.txt").read_bytes()
LSCPU = b"""\
Architecture: x86_64
CPU(s): 2
Hypervisor vendor: KVM
Virtualization type: full
"""
FOLDERS = {
    "native/cpu.txt": CPU,
    "native/fio/1.txt": DISK,
    "kvm-8.2/cpu.txt": CPU.replace(b"events per second:", b"events per second: "),
    "kvm-8.2/lscpu.txt": LSCPU,
    "kvm-8.2/README": b"How I measured.\n",
}
BOUNDARY = "a-mark-between-parts"


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_290_000_000
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def form(about, archive, name="results.zip"):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="'
    parts = [
        f'{head}metadata"\r\n\r\n{json.dumps(about)}\r\n'.encode(),
        f'{head}archive"; filename="{name}"\r\n\r\n'.encode() + archive + b"\r\n",
    ]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


@pytest.fixture
def post(api, study, host):
    def send(archive=None, *, token=None, name="results.zip", **about):
        body = form(
            {"study": "study", "system": {"host": "alpha"}, **about},
            zipped(FOLDERS) if archive is None else archive,
            name,
        )
        content_type = f"multipart/form-data; boundary={BOUNDARY}"
        return api.post("archives/", body, token, content_type=content_type)

    return send


def test_previews_show_systems_and_store_nothing(post):
    answer = post()

    assert answer.status_code == 200
    body = answer.json()
    kvm, native = body["folders"]
    assert (native["folder"], native["result_file_count"]) == ("native", 2)
    assert native["system"] == {"host": "alpha", "hypervisor": "native"}
    assert kvm["system"]["hypervisor"] == "KVM"
    assert kvm["system"]["hypervisor_version"] == "8.2"
    assert kvm["system"]["vcpus"] == 2
    assert kvm["sources"]["hypervisor_version"] == "name"
    assert "lscpu" in kvm["sources"].values()
    assert not kvm["missing_fields"]
    states = {file["name"]: file["state"] for file in body["files"]}
    assert states == {
        "native/cpu.txt": "read",
        "native/fio/1.txt": "read",
        "kvm-8.2/cpu.txt": "read",
        "kvm-8.2/lscpu.txt": "description",
        "kvm-8.2/README": "rejected",
    }
    assert not body["stored"]
    assert not System.objects.exists()
    assert not Run.objects.exists()


def test_importing_twice_stores_once(post):
    first, again = post(store=True), post(store=True)

    assert (first.status_code, again.status_code) == (202, 202)
    stored = [file for file in first.json()["files"] if file["state"] == "stored"]
    assert len(stored) == 3
    assert {file["state"] for file in again.json()["files"]} == {
        *("already_stored", "description", "rejected")
    }
    assert Run.objects.count() == 3
    assert [file["runs"] for file in stored] == [
        file["runs"]
        for file in again.json()["files"]
        if file["state"] == "already_stored"
    ]
    hypervisors = {run.system.hypervisor for run in Run.objects.all()}
    assert hypervisors == {"native", "KVM"}


def test_missing_properties_can_be_sent(post):
    options = {"cache": "none"}
    answer = post(systems={"kvm-8.2": {"vcpus": 4, "options": options}}, store=True)

    assert answer.status_code == 202
    kvm = System.objects.get(hypervisor="KVM")
    assert (kvm.vcpus, kvm.options) == (4, options)


def test_folders_can_have_a_registered_system(post, host):
    post(store=True)
    kvm = System.objects.get(hypervisor="KVM")

    looked = post().json()["folders"][0]
    answer = post(tarred({"x/cpu.txt": CPU}), systems={"x": kvm.pk}, store=True)

    assert looked["matching_system_ids"] == [kvm.pk]
    assert answer.json()["folders"][0]["system_id"] == kvm.pk
    assert kvm.runs.count() == 2


def test_file_dates_are_used_on_request(post):
    post(tarred({"native/cpu.txt": CPU}), store=True, use_file_dates=True)
    post(tarred({"native/cpu.txt": CPU}), store=True)

    dated, undated = Run.objects.order_by("pk")
    assert "2010-11-17" in json.dumps(dated.facts)
    assert "2010-11-17" not in json.dumps(undated.facts)


def test_unknown_systems_are_rejected_before_anything_is_stored(post):
    answer = post(zipped({**FOLDERS, "mine/cpu.txt": CPU}), store=True)

    assert answer.status_code == 422
    assert '"mine"' in answer.json()["detail"]
    assert "hypervisor" in answer.json()["detail"]
    assert "systems" in answer.json()["fields"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"systems": {"kvm": 17}}, "kvm-8.2"),
        ({"study": "another", "store": True}, "another"),
        ({"time_zone": "Mars/Olympus"}, "Europe/Berlin"),
        ({"scenario": "odd"}, "scenario"),
        ({"systems": {"native": {"host": "alpha", "colour": "red"}}}, "colour"),
    ],
)
def test_invalid_metadata_get_a_message(post, about, said):
    answer = post(**about)

    assert answer.status_code in (400, 422)
    assert answer.json().keys() == {"code", "detail", "fields"}
    assert said in answer.text
    assert not Run.objects.exists()


@pytest.mark.parametrize("archive", [b"", b"PK\x03\x04 broken", b"nothing of a tool"])
def test_archives_without_results_are_rejected(post, archive):
    answer = post(archive)

    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


def test_forms_without_parts_are_rejected(api):
    body = f"--{BOUNDARY}--\r\n".encode()
    content_type = f"multipart/form-data; boundary={BOUNDARY}"

    answer = api.post("archives/", body, content_type=content_type)

    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == {"metadata", "archive"}
    assert api.post("archives/", {"metadata": {}}).status_code == 415


def test_systems_of_other_labs_cannot_be_used(
    post, other_token, other_lab, foreign_study
):
    post(store=True)
    Host.objects.create(lab=other_lab, slug="alpha")
    ours = System.objects.get(hypervisor="KVM").pk

    answer = post(
        token=other_token, study="theirs", systems={"kvm-8.2": ours}, store=True
    )

    assert answer.status_code == 422
    assert not Study.objects.get(slug="theirs").runs.exists()


def test_read_tokens_cannot_import(post, read_token):
    assert post(token=read_token, store=True).status_code == 403
