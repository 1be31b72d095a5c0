"""push: what tools printed is kept first and sent then."""

import io
import json
import sys
from pathlib import Path

import pytest

from agents.home import open_spool, spool_folder
from tests.agents.stage import TOKEN, problem


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


def test_it_sends_what_a_tool_printed_and_where(push, server):
    code, _, said = push()

    document = sent(server)
    assert (code, "1 run is on the server." in said) == (0, True)
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


def test_it_reads_standard_input(push, server, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"Triad: 4\n"))
    monkeypatch.setattr(sys, "stdin", stream)

    assert push("-")[0] == 0
    assert sent(server)["output"] == "Triad: 4\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_it_reads_files_in_any_usual_encoding(push, server, output, encoding):
    output.write_bytes("Größe: 1\r\n".encode(encoding))

    push()

    assert sent(server)["output"] == "Größe: 1\r\n"


def test_what_is_given_is_sent_and_nothing_else(push, server, output):
    push("--tool", "stream", "--started-at", "2010-07-29T12:00:00Z", output)
    given = sent(server)

    assert (given["tool"], given["started_at"]) == ("stream", "2010-07-29T12:00:00Z")
    assert "locale" not in given
    assert "scenario" not in given


def test_a_registered_system_is_named_by_its_id(push, server, output):
    push("--system", "17", output)

    assert sent(server)["system"] == 17


def test_a_native_machine_states_no_virtual_cpus(push, server, machine):
    machine()

    push()

    assert sent(server)["system"]["hypervisor"] == "native"
    assert "vcpus" not in sent(server)["system"]


def test_layers_below_are_part_of_the_system(push, server, machine, output):
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
def test_what_is_not_certain_a_person_says(push, server, machine, layers, conflict):
    machine(*layers, conflict=conflict)

    code, _, said = push()

    assert (code, "--hypervisor" in said) == (2, True)
    assert server.stored == {}


def test_what_is_stated_is_sent_whatever_was_detected(push, server, machine, output):
    machine("vmware", conflict=True)

    push("--hypervisor", "VMware ESXi", "--hypervisor-version", "4.0", output)

    system = sent(server)["system"]
    assert system["hypervisor"] == "VMware ESXi"
    assert system["hypervisor_version"] == "4.0"
    assert "virtualization" not in system


def test_without_a_server_the_run_waits_and_goes_with_the_next(
    push, server, output, home
):
    server.faults = [503]

    code, _, said = push()
    assert (code, "1 run waits in the spool" in said) == (5, True)

    assert push()[0] == 0
    assert len(server.stored) == 2
    assert open_spool().waiting() == []


def test_later_sends_nothing_now(push, server, output):
    assert push("--later", output)[0] == 0
    assert (server.requests, len(open_spool().waiting())) == ([], 1)


def test_a_refused_run_is_laid_aside_and_said(push, server, output):
    server.faults = [(422, {}, problem("unknown_host", "No such host."))]

    code, _, said = push()

    assert code == 4
    assert "No such host." in said
    assert "spool rejected" in said
    assert len(open_spool().rejected()) == 1


@pytest.mark.parametrize(
    ("shows_runs", "why"),
    [(True, "No tool that is known printed this."), (False, "/runs/1/")],
    ids=["who may read", "who may but upload"],
)
def test_a_text_that_no_tool_printed_is_said(
    push, server, output, tmp_path, shows_runs, why
):
    server.shows_runs = shows_runs
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear customer,\n")

    code, _, said = push(output, letter)

    assert code == 4
    assert f"{letter}: " in said
    assert why in said
    assert f"{output}: " not in said
    assert len(server.stored) == 2  # it is kept all the same


def test_what_the_server_has_not_read_in_time_is_no_failure(push, server, monkeypatch):
    monkeypatch.setattr("agents.sending.READ_WITHIN_S", 0)

    code, _, said = push()

    assert (code, "1 text has not been read yet" in said) == (0, True)


def test_a_server_that_goes_away_behind_the_upload_is_no_failure(push, server):
    server.faults = [None, 503]  # the upload itself, and the question about it

    code, _, said = push()

    assert (code, "1 text has not been read yet" in said) == (0, True)


def test_several_files_are_several_uploads(push, server, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)

    push(tmp_path / "a", tmp_path / "b")

    assert sorted(each["output"] for each in server.stored.values()) == ["a", "b"]
    assert len(server.stored) == 2


def test_one_unreadable_file_keeps_nothing_of_any(push, server, output, tmp_path):
    code, _, said = push(output, tmp_path / "missing")

    assert (code, "No such file" in said) == (2, True)
    assert not Path(spool_folder()).exists()


def test_an_empty_file_is_a_mistake(push, output):
    output.write_text(" \n")

    assert push()[0] == 2


def test_an_option_is_a_pair(push, output):
    code, _, said = push("--option", "hw_virt", output)

    assert (code, "name=value" in said) == (2, True)


def test_an_agent_without_a_server_says_what_to_do(call, home, output):
    code, _, said = call("push", output)

    assert (code, "enroll --server" in said) == (3, True)


def test_a_guest_that_lives_for_one_run_needs_no_file(
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
        ("[]", "not an object"),
        ('{"server": 7}', "server is no text"),
        ('{"token": "x"}', "names no server"),
        ('{"server": "virtlab.example.org"}', "no address such as https://"),
    ],
)
def test_a_damaged_enrolment_is_said(call, enrolled, text, why):
    (enrolled / "agent.json").write_text(text)

    code, _, said = call("push", str(enrolled))

    assert (code, why in said) == (3, True)


def test_an_address_without_a_scheme_in_the_environment_is_said(
    call, home, monkeypatch
):
    monkeypatch.setenv("VIRTLAB_SERVER", "virtlab.example.org")
    monkeypatch.setenv("VIRTLAB_TOKEN", TOKEN)

    code, _, said = call("push", str(home))

    assert (code, "VIRTLAB_SERVER is no address such as https://" in said) == (3, True)


def test_a_full_spool_is_loud(push, enrolled, monkeypatch, output):
    monkeypatch.setattr("agents.spool.Spool.__init__.__defaults__", (10,))

    code, _, said = push()

    assert (code, "NOT saved" in said) == (6, True)


def test_evidence_that_cannot_be_printed_is_escaped(push, server, machine):
    from agents.console import printable_all

    shown = printable_all({"leaves": {"0x40000100": ["0x21f", "\x88\n\0\0"]}, "n": 1})

    assert shown == {"leaves": {"0x40000100": ["0x21f", "\\x88\n"]}, "n": 1}
    assert json.loads(json.dumps(shown)) == shown
