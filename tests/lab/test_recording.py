from benchmarks.reference.recorded import recorded_study
from lab.recording import write_record

SYSTEM = {
    "id": 7,
    "url": "http://there/",
    "host": "machine",
    "hypervisor": "QEMU TCG",
    "guest_os": "Debian",
    "vcpus": 1,
    "memory_bytes": None,
    "options": {"layers": "qemu-tcg"},
}
STATED = {
    "host": "machine",
    "hypervisor": "QEMU TCG",
    "guest_os": "Debian",
    "vcpus": 1,
    "options": {"layers": "qemu-tcg"},
}


class Server:
    def get(self, path):
        assert path == "studies/result/"
        return {"slug": "result", "title": "A result", "note": "", "lab": "first-lab"}

    def get_all(self, path, **_):
        hosts = [{"slug": "machine", "facts": {"cores": 2}, "id": 1}, {"slug": "other"}]
        return iter([SYSTEM] if path == "systems/" else hosts)


def upload(key, system, started_at):
    return {
        "key": key,
        "study": "result",
        "system": system,
        "output": "text",
        "started_at": started_at,
    }


def test_what_was_uploaded_can_be_uploaded_again(tmp_path):
    first = upload("a", 7, "2026-11-21T08:00:00Z")
    second = upload(
        "b", {"host": "machine", "hypervisor": "KVM"}, "2026-11-21T09:00:00Z"
    )

    write_record(tmp_path / "again.json.xz", Server(), "result", [second, first])

    study = recorded_study(tmp_path / "again.json.xz")
    assert study.document == {"slug": "again", "title": "A result"}
    assert study.hosts == ({"slug": "machine", "facts": {"cores": 2}},)
    named = {"study": "again"}
    assert study.runs == ({**first, "system": STATED, **named}, {**second, **named})
