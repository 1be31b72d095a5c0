"""push: output is saved first, then sent."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from agents.local_state import (
    load_enrolment,
    open_spool,
    save_enrolment,
    spool_folder,
)
from tests.agents.packed_agent import TOKEN, problem


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "triad.txt"
    path.write_text("Triad: 1 2 3\n")
    return path


@pytest.fixture
def push(call, enrolled, machine, output):
    def run(*words):
        return call("push", *(words or (output,)))

    return run


def sent(server):
    (document,) = server.stored.values()
    return document


def test_output_is_sent_with_its_system(push, server):
    code, _, err = push()

    document = sent(server)
    assert (code, "1 run is on the server." in err) == (0, True)
    assert document["output"] == "Triad: 1 2 3\n"
    assert document["study"] == "study"
    assert document["system"] == {
        "host": "alpha",
        "hypervisor": "KVM",
        "virtualization": "full",
        "guest_os": "Debian GNU/Linux 12 (bookworm)",
        "guest_bits": 64,
        "vcpus": 2,
    }
    assert document["facts"]["file"]["name"] == "triad.txt"
    assert document["facts"]["platform"]["layers"] == ["kvm"]
    assert "samples" not in document


def test_standard_input_is_read(push, server, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"Triad: 4\n"))
    monkeypatch.setattr(sys, "stdin", stream)

    assert push("-")[0] == 0
    assert sent(server)["output"] == "Triad: 4\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_usual_encodings_are_read(push, server, output, encoding):
    output.write_bytes("Größe: 1\r\n".encode(encoding))

    push()

    assert sent(server)["output"] == "Größe: 1\r\n"


def test_only_given_options_are_sent(push, server, output):
    push("--tool", "stream", "--started-at", "2010-07-29T12:00:00Z", output)
    upload = sent(server)

    assert (upload["tool"], upload["started_at"]) == ("stream", "2010-07-29T12:00:00Z")
    assert "locale" not in upload
    assert "scenario" not in upload


def test_registered_system_is_sent_by_id(push, server, output):
    push("--system", "17", output)

    assert sent(server)["system"] == 17


def test_native_machine_states_no_virtual_cpus(push, server, machine):
    machine()

    push()

    assert sent(server)["system"]["hypervisor"] == "native"
    assert "vcpus" not in sent(server)["system"]


@pytest.mark.parametrize(
    ("layers", "conflict"), [(["unknown"], False), (["kvm"], False), ([], True)]
)
def test_native_against_the_evidence_needs_a_confirmation(
    push, server, machine, output, layers, conflict
):
    machine(*layers, conflict=conflict)

    code, _, err = push("--hypervisor", "native", output)
    assert (code, "--confirm-native" in err, server.stored) == (2, True, {})

    push("--hypervisor", "native", "--confirm-native", output)
    assert sent(server)["system"]["hypervisor"] == "native"
    assert sent(server)["facts"]["platform"]["confirmed"] == "native"


def test_device_and_pipe_are_refused_without_reading(push, server, tmp_path):
    os.mkfifo(tmp_path / "pipe")

    for name in (tmp_path / "pipe", "/dev/zero"):
        code, _, err = push(name)
        assert (code, "is not a file" in err, server.stored) == (2, True, {})


def test_unknown_machine_asks_for_its_hypervisor(push, server, machine):
    machine("unknown")

    code, _, err = push()

    assert (code, "--hypervisor" in err, server.stored) == (2, True, {})


def test_enrolment_may_confirm_that_the_machine_is_native(push, server, machine):
    save_enrolment(load_enrolment()._replace(native="confirmed"))
    machine("unknown")

    push()

    assert sent(server)["system"]["hypervisor"] == "native"


def test_disputed_layers_are_not_options_of_the_system(push, server, machine, output):
    machine("qemu-tcg", "xen-pv", conflict=True)

    push("--hypervisor", "Xen", output)

    system = sent(server)["system"]
    assert "options" not in system
    assert "virtualization" not in system


def test_outer_layers_are_an_option_of_the_system(push, server, machine, output):
    build = {"xen": "4.17.5"}
    machine("qemu-tcg", "xen-pv", **{"hypervisor build": build})

    push("--option", "storage=lvm", output)

    system = sent(server)["system"]
    assert system["options"] == {"layers": "qemu-tcg > xen-pv", "storage": "lvm"}
    assert (system["hypervisor"], system["hypervisor_version"]) == ("Xen", "4.17.5")
    assert system["virtualization"] == "paravirtual"


@pytest.mark.parametrize(
    ("layers", "conflict"), [(["vmware"], False), (["kvm"], True), (["acrn"], False)]
)
def test_uncertain_hypervisor_must_be_stated(push, server, machine, layers, conflict):
    machine(*layers, conflict=conflict)

    code, _, err = push()

    assert (code, "--hypervisor" in err) == (2, True)
    assert server.stored == {}


def test_stated_hypervisor_replaces_the_detected_one(push, server, machine, output):
    machine("vmware", conflict=True)

    push("--hypervisor", "VMware ESXi", "--hypervisor-version", "4.0", output)

    system = sent(server)["system"]
    assert system["hypervisor"] == "VMware ESXi"
    assert system["hypervisor_version"] == "4.0"
    assert "virtualization" not in system


def test_unsent_run_waits_for_the_next_push(push, server, output, home):
    server.faults = [503]

    code, _, err = push()
    assert (code, "1 run waits in the spool" in err) == (5, True)

    assert push()[0] == 0
    assert len(server.stored) == 2
    assert open_spool().waiting() == []


def test_later_does_not_send(push, server, output):
    assert push("--later", output)[0] == 0
    assert (server.requests, len(open_spool().waiting())) == ([], 1)


def test_refused_run_is_rejected_and_reported(push, server, output):
    server.faults = [(422, {}, problem("unknown_host", "No such host."))]

    code, _, err = push()

    assert code == 4
    assert "No such host." in err
    assert "spool rejected" in err
    assert len(open_spool().rejected()) == 1


@pytest.mark.parametrize(
    ("shows_runs", "why"),
    [(True, "No tool that is known printed this."), (False, "/runs/1/")],
    ids=["who may read", "who may but upload"],
)
def test_unreadable_text_is_reported(push, server, output, tmp_path, shows_runs, why):
    server.shows_runs = shows_runs
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear customer,\n")

    code, _, err = push(output, letter)

    assert code == 4
    assert f"{letter}: " in err
    assert why in err
    assert f"{output}: " not in err
    assert len(server.stored) == 2  # the server stores it nevertheless


def test_unparsed_upload_has_its_own_exit_code(push, server, monkeypatch):
    monkeypatch.setattr("agents.upload_results.PARSING_TIMEOUT_S", 0)

    code, _, err = push()

    assert (code, "1 upload has not been read" in err) == (8, True)


def test_server_lost_after_the_upload_leaves_its_reading_unknown(push, server):
    server.faults = [None, 503]  # the upload itself, and the request for its state

    code, _, err = push()

    assert (code, "1 upload has not been read" in err) == (8, True)


def test_several_files_are_several_uploads(push, server, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)

    push(tmp_path / "a", tmp_path / "b")

    assert sorted(run["output"] for run in server.stored.values()) == ["a", "b"]
    assert len(server.stored) == 2


def test_unreadable_file_saves_no_file(push, server, output, tmp_path):
    code, _, err = push(output, tmp_path / "missing")

    assert (code, "No such file" in err) == (2, True)
    assert not Path(spool_folder()).exists()


def test_empty_file_is_refused(push, output):
    output.write_text(" \n")

    assert push()[0] == 2


def test_option_needs_a_value(push, output):
    code, _, err = push("--option", "hw_virt", output)

    assert (code, "NAME=VALUE" in err) == (2, True)


def test_missing_server_is_explained(call, home, output):
    code, _, err = call("push", output)

    assert (code, "enroll --server" in err) == (3, True)


def test_environment_replaces_the_enrolment_file(
    call, home, machine, output, server, monkeypatch
):
    monkeypatch.setenv("VIRTLAB_SERVER", server.url + "/")
    monkeypatch.setenv("VIRTLAB_TOKEN", TOKEN)

    code, _, _ = call("push", "--study", "study", "--host", "alpha", output)

    assert (code, len(server.stored)) == (0, 1)
    assert not (home / "agent.json").exists()
    assert call("doctor")[0] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"token": 7', "cannot be read"),
        ("[]", "not a JSON object"),
        ('{"server": 7}', "server is not a text"),
        ('{"token": "x"}', "the server is missing"),
        ('{"server": "virtlab.example.org"}', "is not a URL such as https://"),
    ],
)
def test_damaged_enrolment_is_reported(call, enrolled, text, why):
    (enrolled / "agent.json").write_text(text)

    code, _, err = call("push", str(enrolled))

    assert (code, why in err) == (3, True)


def test_environment_url_needs_a_scheme(call, home, monkeypatch):
    monkeypatch.setenv("VIRTLAB_SERVER", "virtlab.example.org")
    monkeypatch.setenv("VIRTLAB_TOKEN", TOKEN)

    code, _, err = call("push", str(home))

    assert (code, "VIRTLAB_SERVER is not a URL such as https://" in err) == (3, True)


def test_full_spool_is_reported(push, enrolled, monkeypatch, output):
    monkeypatch.setattr("agents.spool.Spool.__init__.__defaults__", (10,))

    code, _, err = push()

    assert (code, "NOT saved" in err) == (6, True)


def test_unprintable_evidence_is_escaped(push, server, machine):
    from agents.console import printable_all

    shown = printable_all({"leaves": {"0x40000100": ["0x21f", "\x88\n\0\0"]}, "n": 1})

    assert shown == {"leaves": {"0x40000100": ["0x21f", "\\x88\n"]}, "n": 1}
    assert json.loads(json.dumps(shown)) == shown


def test_name_in_another_encoding_is_sent_with_escapes(push, server, tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(name, "wb") as file:
        file.write(b"Durchl\xe4ufe\n")

    assert push(os.fsdecode(name))[0] == 0
    assert sent(server)["facts"]["file"]["name"] == "caf\\xe9.txt"
    assert sent(server)["output"] == "Durchl\xe4ufe\n"
