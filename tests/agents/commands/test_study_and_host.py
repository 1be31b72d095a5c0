"""study and host: options are sent as the API expects them."""

import json

import pytest

STUDY = {"lab": "alpha-lab", "slug": "kvm", "title": "KVM", "visibility": "shared"}
READ = {
    "facts": {"cores": 4},
    "programs": ["lscpu"],
    "warnings": ["Printed in a guest."],
}


def sent(server):
    return [(path, json.loads(body)) for path, _, body in server.requests]


@pytest.mark.usefixtures("enrolled")
def test_study_is_created_from_options(call, server):
    server.faults = [(201, {}, STUDY)]

    code, out, _ = call(
        *("study", "new", "kvm", "--title", "KVM", "--licence", "CC-BY-4.0"),
        *("--share", "beta-lab", "--factor", "bits=32, 64", "--factor", "tag=007,1.5"),
        *("--margin", "3"),
    )

    assert (code, out) == (0, "alpha-lab/kvm: KVM (shared)\n")
    assert sent(server) == [
        (
            "/api/v1/studies/",
            {
                "slug": "kvm",
                "title": "KVM",
                "data_licence": "CC-BY-4.0",
                "visibility": "shared",
                "shared_with": ["beta-lab"],
                "factors": {"bits": [32, 64], "tag": ["007", 1.5]},
                "equivalence_margin_percent": 3.0,
            },
        )
    ]


@pytest.mark.usefixtures("enrolled")
@pytest.mark.parametrize(
    "words",
    [("new", "kvm"), ("set", "kvm"), ("new", "kvm", "--title", "K", "--factor", "x")],
)
def test_invalid_study_is_not_sent(call, server, words):
    code, _, err = call("study", *words)

    assert (code, server.requests) == (2, [])
    assert err


@pytest.mark.usefixtures("enrolled")
def test_study_is_exported_to_a_file(call, server, tmp_path):
    path = tmp_path / "kvm.json.gz"

    code, out, _ = call(
        *("study", "export", "beta-lab/kvm", "--to", str(path)),
        *("--omit-raw-output", "--power-logs"),
    )

    assert (code, out) == (0, f"{path}: 27 bytes\n")
    assert json.loads(path.read_bytes()) == {"format": "virtlab-study"}
    [(address, _, _)] = server.requests
    assert address.partition("?")[2].split("&") == [
        "study=beta-lab%2Fkvm",
        "raw_output=omit",
        "power_logs=include",
    ]


@pytest.mark.usefixtures("enrolled")
def test_study_file_is_imported_unchanged(call, server, tmp_path):
    path = tmp_path / "kvm.json"
    path.write_text('{"format": "virtlab-study"}')
    stored = {"lab": "alpha-lab", "slug": "kvm", "accepted": 3, "repeated": 1}
    server.faults = [(202, {}, stored)]

    code, out, _ = call("study", "import", str(path))

    assert (code, out) == (0, "alpha-lab/kvm: 3 runs stored, 1 known before\n")
    [(address, _, body)] = server.requests
    assert (address, body) == ("/api/v1/study-file/", path.read_bytes())


@pytest.mark.usefixtures("enrolled")
def test_missing_study_file_is_an_error(call, server, tmp_path):
    code, _, err = call("study", "import", str(tmp_path / "missing.json"))

    assert (code, server.requests) == (1, [])
    assert "missing.json" in err


@pytest.mark.usefixtures("enrolled")
def test_refusal_is_reported_with_its_fields(call, server):
    refusal = {"code": "invalid", "detail": "No.", "fields": {"slug": ["Taken."]}}
    server.faults = [(400, {}, refusal)]

    code, _, err = call("study", "new", "kvm", "--title", "KVM")

    assert code == 4
    assert "Taken." in err


@pytest.mark.usefixtures("enrolled")
def test_host_facts_can_be_previewed(call, server, tmp_path):
    printed = tmp_path / "lscpu.txt"
    printed.write_text("CPU(s): 4\n")
    server.faults = [(200, {}, READ), (200, {}, READ), (201, {}, {"slug": "ws1"})]

    code, out, err = call("host", "ws1", str(printed), "--look")
    assert (code, json.loads(out)) == (0, {"cores": 4})
    assert "Printed in a guest." in err
    assert [path for path, _ in sent(server)] == ["/api/v1/parse/machine/"]

    assert call("host", "ws1", str(printed))[0] == 0
    stored = {"slug": "ws1", "title": "", "facts": {"cores": 4}}
    assert sent(server)[-1] == ("/api/v1/hosts/", stored)
