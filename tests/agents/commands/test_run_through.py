"""run --through: the probe in a guest, measured from here by real sh and ssh."""

import getpass
import shutil
import socket
import subprocess
import sys
import time

import pytest

from agents.kernels import probe as probes
from benchmarks.parsing import reading

SHORT = ("--seconds", "1", "--repetitions", "1", "--warm-up", "0", "--file-mib", "1")
SYSTEM = ("--system", "17")


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there")
    return probes.build(probes.PLATFORMS[0], str(folder))[0]


@pytest.fixture
def away(tmp_path):
    """A command that reaches this machine as if it were another, over real ssh."""
    key, host_key = tmp_path / "key", tmp_path / "host"
    for path in (key, host_key):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path]
        subprocess.run(words, check=True)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    settings = tmp_path / "sshd"
    settings.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nUsePAM no\n"
        f"PidFile none\nAuthorizedKeysFile {key}.pub\nStrictModes no\n"
        "PermitRootLogin yes\n"
    )
    words = [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", settings]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as server:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield (
            f"ssh -q -F none -i {key} -p {port} -o StrictHostKeyChecking=no "
            f"-o UserKnownHostsFile=/dev/null -o BatchMode=yes "
            f"{getpass.getuser()}@127.0.0.1"
        )
        server.terminate()


@pytest.fixture
def run(call, enrolled, machine, probe):
    def run(through, *words, tool="virtlab-linpack"):
        options = ("--through", through, "--probe", probe, *SHORT, *words)
        if tool == "virtlab-linpack":
            options += ("--sizes", "50")
        return call("run", *options, tool)

    return run


@pytest.mark.parametrize("through", ["env", "sh -c {}", "nice -n 1 sh -c {}"])
def test_what_was_printed_there_is_sent_from_here(run, server, probe, through):
    code, _, said = run(through, *SYSTEM)

    (sent,) = server.stored.values()
    (read,) = reading.read(sent["output"], tool=sent["tool"])
    assert code == 0, said
    assert not read.problem
    assert f"{probe} linpack" in " ".join(sent["facts"]["execution"]["argv"])
    assert (sent["system"], sent["clock"]) == (17, "guest")


def test_this_machine_is_not_described_as_the_guest(run, server):
    run("env", *SYSTEM)

    (sent,) = server.stored.values()
    facts = sent["facts"]
    assert facts["through"]["command"] == "env"
    assert (
        "external_us" in facts["through"]["clock"]
        or "unknown" in (facts["through"]["clock"])
    )
    assert set(facts["clock"]) == {"unknown"}
    assert not {"platform", "threads", "evidence", "distribution"} & facts.keys()
    assert not {"load before", "busy share"} & facts["execution"].keys()
    assert "--most-bytes" not in facts["execution"]["argv"]


def test_what_the_guest_is_has_to_be_said(run, server):
    code, _, said = run("env")

    assert (code, server.stored) == (2, {})
    assert "Say with --hypervisor what this is" in said
    assert "measured through another machine" in said


def test_said_in_words_it_is_a_system_without_facts_of_this_machine(run, server):
    run("env", "--hypervisor", "Hyper-V", "--vcpus", "4")

    (sent,) = server.stored.values()
    assert sent["system"] == {"host": "alpha", "hypervisor": "Hyper-V", "vcpus": 4}


def test_a_native_machine_times_itself(run, server):
    run("env", "--hypervisor", "native")

    assert [sent["clock"] for sent in server.stored.values()] == ["local"]


@pytest.mark.parametrize(
    ("through", "sentence"),
    [
        ("no-such-program", "no-such-program: No such file"),
        ("sh -c 'echo refused; exit 255'", "does not start the probe (refused)"),
        ("true", "does not start the probe (it printed nothing)"),
        ("yes", "does not start the probe (it printed more than 65536 bytes)"),
        ("ssh 'vm", "No closing quotation"),
        ("", "--through names a program"),
        ("{}", "--through names a program"),
    ],
)
def test_a_way_that_leads_nowhere_is_said_before_anything_runs(
    run, server, through, sentence
):
    code, _, said = run(through, *SYSTEM)

    assert (code, server.stored) == (2, {})
    assert sentence in said


def test_words_that_a_shell_would_change_are_refused(run, server):
    code, _, said = run(
        "env", *SYSTEM, "--folder", "$HOME; rm x", tool="virtlab-system"
    )

    assert (code, server.stored) == (2, {})
    assert "cannot be said through another program" in said


def test_tools_that_the_probe_has_not_are_refused(call, enrolled, machine):
    code, _, said = call("run", "--through", "env", "fio", "virtlab-memory")

    assert code == 2
    assert "fio it has not: run it there and push" in said


def test_a_guest_that_dies_meanwhile_sends_nothing(run, server, tmp_path, probe):
    dying = tmp_path / "dying"
    dying.write_text('#!/bin/sh\n[ $# = 1 ] && exec "$@"\nkill -9 $$\n')
    dying.chmod(0o755)

    code, _, said = run(str(dying), *SYSTEM)

    assert (code, server.stored) == (1, {})
    assert "ended with -9; nothing of it is sent" in said


def test_the_token_does_not_go_there(run, server, monkeypatch, tmp_path):
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_abcdef_secret")
    monkeypatch.setenv("VIRTLAB_SERVER", server.url)
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\nenv >> {tmp_path}/seen\nexec "$@"\n')
    spy.chmod(0o755)

    run(str(spy), *SYSTEM)

    assert "secret" not in (tmp_path / "seen").read_text()


@pytest.mark.proof
def test_over_real_ssh_it_is_measured(run, server, away):
    """`apt-get install openssh-server`; make test-probe."""
    for tool in ("virtlab-linpack", "virtlab-system"):
        code, _, said = run(away, *SYSTEM, tool=tool)
        assert code == 0, said

    tools = [sent["tool"] for sent in server.stored.values()]
    assert tools == ["virtlab-linpack", "virtlab-system"]
    for sent in server.stored.values():
        (read,) = reading.read(sent["output"], tool=sent["tool"])
        assert not read.problem


# A virsh that is made up: it does as QEMU's agent does, on this machine.
VIRSH = """#!{python}
import base64, json, subprocess, sys
_, command, domain, text = sys.argv
asked = json.loads(text)
given = asked["arguments"]
if command != "qemu-agent-command" or domain != "vm-a":
    sys.exit("error: failed to get domain '%s'" % domain)
if asked["execute"] == "guest-exec":
    assert given["capture-output"] is True
    done = subprocess.run([given["path"], *given["arg"]], capture_output=True)
    ended = {{"signal": -done.returncode}}
    if done.returncode >= 0:
        ended = {{"exitcode": done.returncode}}
    for name, content in (("out", done.stdout), ("err", done.stderr)):
        if content:
            ended[name + "-data"] = base64.b64encode(content).decode()
    state = {{"exited": True, **ended}}
    open({folder!r} + "/state", "w").write(json.dumps(state))
    print(json.dumps({{"return": {{"pid": 7}}}}))
else:
    assert (asked["execute"], given) == ("guest-exec-status", {{"pid": 7}})
    print(json.dumps({{"return": json.load(open({folder!r} + "/state"))}}))
"""


@pytest.fixture
def virsh(tmp_path, monkeypatch):
    folder = tmp_path / "libvirt"
    folder.mkdir()
    program = folder / "virsh"
    program.write_text(VIRSH.format(python=sys.executable, folder=str(folder)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_the_agent_in_a_kvm_guest_starts_the_probe(run, server, virsh):
    code, _, said = run("virsh:vm-a", *SYSTEM)

    assert code == 0, said
    (document,) = server.stored.values()
    (read,) = reading.read(document["output"])
    assert (read.tool, read.problem) == ("virtlab-linpack", None)
    assert document["facts"]["through"]["command"] == "virsh:vm-a"


def test_a_guest_that_libvirt_does_not_know_is_said(run, virsh):
    code, _, said = run("virsh:vm-b", *SYSTEM)

    assert code == 2
    assert "failed to get domain 'vm-b'" in said


# A PowerShell that is made up: it starts here what ours is told to start there.
POWERSHELL = """#!/bin/sh
for script; do :; done
printf '%s\\n' "$script" >> {told}
words=$(printf '%s' "$script" | sed -n "s/.*{{ & \\\\(.*\\\\) 2>&1.*/\\\\1/p")
eval "$words" 2>&1
"""


@pytest.fixture
def powershell(tmp_path, monkeypatch):
    """It shows that our words fit together; no real one was here to run them."""
    folder = tmp_path / "shells"
    folder.mkdir()
    program = folder / "pwsh"
    program.write_text(POWERSHELL.format(told=tmp_path / "told"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return tmp_path / "told"


@pytest.mark.parametrize(
    ("through", "session"),
    [
        ("winrm:vm-a", "New-PSSession -ComputerName 'vm-a' -ErrorAction Stop"),
        ("psdirect:My VM", "New-PSSession -VMName 'My VM' -ErrorAction Stop"),
    ],
)
def test_powershell_reaches_a_windows(run, server, powershell, through, session):
    code, _, said = run(through, *SYSTEM)

    assert code == 0, said
    [document] = server.stored.values()
    [read] = reading.read(document["output"])
    assert read.tool == "virtlab-linpack"
    assert session in powershell.read_text()
    # A bare comma would make a list of it.
    assert "'--sizes' '50'" in powershell.read_text()


def test_its_credential_is_a_file_and_no_password(run, powershell):
    run("psdirect:vm", *SYSTEM, "--credential", "C:\\vm.xml")

    told = powershell.read_text()
    assert "-Credential (Import-Clixml 'C:\\vm.xml')" in told


@pytest.mark.parametrize(
    ("through", "words", "sentence"),
    [
        ("winrm:o'hara", (), "cannot be said to PowerShell"),
        ("ssh vm", ("--credential", "x"), "--credential goes with"),
    ],
)
def test_what_powershell_would_misread_is_refused(
    run, powershell, through, words, sentence
):
    code, _, said = run(through, *SYSTEM, *words)

    assert code == 2
    assert sentence in said


def test_a_machine_without_powershell_says_so(run, monkeypatch):
    monkeypatch.setattr("agents.measuring.through.shutil.which", lambda name: None)

    code, _, said = run("winrm:vm-a", *SYSTEM)

    assert code == 2
    assert "There is no PowerShell here" in said


def test_a_guest_in_a_plan_has_a_name(call, enrolled):
    code, _, said = call("plan", "7", *SYSTEM, "--through", "env")

    assert (code, "--as" in said) == (2, True)
