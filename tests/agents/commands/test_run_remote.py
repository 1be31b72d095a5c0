"""run --through: the probe in a guest, measured from here by real sh and ssh."""

import getpass
import shutil
import socket
import subprocess
import sys
import time

import pytest

from agents.kernels import static_build as probes
from benchmarks.parsing import run_extraction

SHORT = ("--seconds", "1", "--repetitions", "1", "--warm-up", "0", "--file-mib", "1")
SYSTEM = ("--system", "17")


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there")
    return probes.build(probes.PLATFORMS[0], str(folder))[0]


@pytest.fixture
def away(tmp_path):
    """Return a command that reaches this machine like another one, over real ssh."""
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
def test_remote_output_is_sent_from_here(run, server, probe, through):
    code, _, err = run(through, *SYSTEM)

    (sent,) = server.stored.values()
    (read,) = run_extraction.extract_runs(sent["output"], tool=sent["tool"])
    assert code == 0, err
    assert not read.problem
    assert f"{probe} linpack" in " ".join(sent["facts"]["execution"]["argv"])
    assert (sent["system"], sent["clock"]) == (17, "guest")


def test_guest_has_no_facts_of_this_machine(run, server):
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


def test_hypervisor_of_the_guest_must_be_stated(run, server):
    code, _, err = run("env")

    assert (code, server.stored) == (2, {})
    assert "Name the hypervisor with --hypervisor" in err
    assert "measured through another machine" in err


def test_stated_system_has_no_facts_of_this_machine(run, server):
    run("env", "--hypervisor", "Hyper-V", "--vcpus", "4")

    (sent,) = server.stored.values()
    assert sent["system"] == {"host": "alpha", "hypervisor": "Hyper-V", "vcpus": 4}


def test_native_machine_uses_the_local_clock(run, server):
    run("env", "--hypervisor", "native", "--confirm-native")

    assert [sent["clock"] for sent in server.stored.values()] == ["local"]


@pytest.mark.parametrize(
    ("through", "sentence"),
    [
        ("no-such-program", "no-such-program: No such file"),
        ("sh -c 'echo refused; exit 255'", "does not start the probe (refused)"),
        ("true", "does not start the probe (no output)"),
        ("yes", "does not start the probe (it printed more than 65536 bytes)"),
        ("ssh 'vm", "No closing quotation"),
        ("", "--through needs a command"),
        ("{}", "--through needs a command"),
    ],
)
def test_unusable_command_stops_before_any_run(run, server, through, sentence):
    code, _, err = run(through, *SYSTEM)

    assert (code, server.stored) == (2, {})
    assert sentence in err


def test_words_with_shell_syntax_are_refused(run, server):
    code, _, err = run("env", *SYSTEM, "--folder", "$HOME; rm x", tool="virtlab-system")

    assert (code, server.stored) == (2, {})
    assert "cannot be passed through another program" in err


def test_tools_outside_the_probe_are_refused(call, enrolled, machine):
    code, _, err = call("run", "--through", "env", "fio", "virtlab-memory")

    assert code == 2
    assert "Run fio in the guest and push" in err


def test_dying_guest_sends_nothing(run, server, tmp_path, probe):
    dying = tmp_path / "dying"
    dying.write_text('#!/bin/sh\n[ $# = 1 ] && exec "$@"\nkill -9 $$\n')
    dying.chmod(0o755)

    code, _, err = run(str(dying), *SYSTEM)

    assert (code, server.stored) == (1, {})
    assert "ended with -9; the run does not count" in err


def test_token_stays_on_this_machine(run, server, monkeypatch, tmp_path):
    monkeypatch.setenv("VIRTLAB_TOKEN", "vl_abcdef_secret")
    monkeypatch.setenv("VIRTLAB_SERVER", server.url)
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\nenv >> {tmp_path}/seen\nexec "$@"\n')
    spy.chmod(0o755)

    run(str(spy), *SYSTEM)

    assert "secret" not in (tmp_path / "seen").read_text()


@pytest.mark.slow
def test_real_ssh_is_measured(run, server, away):
    """Needs `apt-get install openssh-server`; run by make test-probe."""
    for tool in ("virtlab-linpack", "virtlab-system"):
        code, _, err = run(away, *SYSTEM, tool=tool)
        assert code == 0, err

    tools = [sent["tool"] for sent in server.stored.values()]
    assert tools == ["virtlab-linpack", "virtlab-system"]
    for sent in server.stored.values():
        (read,) = run_extraction.extract_runs(sent["output"], tool=sent["tool"])
        assert not read.problem


# A simulated virsh, which acts like QEMU's guest agent on this machine.
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


def test_qemu_guest_agent_starts_the_probe(run, server, virsh):
    code, _, err = run("virsh:vm-a", *SYSTEM)

    assert code == 0, err
    (document,) = server.stored.values()
    (read,) = run_extraction.extract_runs(document["output"])
    assert (read.tool, read.problem) == ("virtlab-linpack", None)
    assert document["facts"]["through"]["command"] == "virsh:vm-a"


def test_unknown_libvirt_domain_is_reported(run, virsh):
    code, _, err = run("virsh:vm-b", *SYSTEM)

    assert code == 2
    assert "failed to get domain 'vm-b'" in err


# A simulated PowerShell, which runs here what the real one would run remotely.
POWERSHELL = """#!/bin/sh
for script; do :; done
printf '%s\\n' "$script" >> {calls}
words=$(printf '%s' "$script" | sed -n "s/.*{{ & \\\\(.*\\\\) 2>&1.*/\\\\1/p")
eval "$words" 2>&1
"""


@pytest.fixture
def powershell(tmp_path, monkeypatch):
    """This checks only our own command line; no real PowerShell was available."""
    folder = tmp_path / "shells"
    folder.mkdir()
    program = folder / "pwsh"
    program.write_text(POWERSHELL.format(calls=tmp_path / "calls"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return tmp_path / "calls"


@pytest.mark.parametrize(
    ("through", "session"),
    [
        ("winrm:vm-a", "New-PSSession -ComputerName 'vm-a' -ErrorAction Stop"),
        ("psdirect:My VM", "New-PSSession -VMName 'My VM' -ErrorAction Stop"),
    ],
)
def test_powershell_command_for_windows(run, server, powershell, through, session):
    code, _, err = run(through, *SYSTEM)

    assert code == 0, err
    [document] = server.stored.values()
    [read] = run_extraction.extract_runs(document["output"])
    assert read.tool == "virtlab-linpack"
    assert session in powershell.read_text()
    # An unquoted comma would make a list.
    assert "'--sizes' '50'" in powershell.read_text()


def test_credential_is_a_file(run, powershell):
    run("psdirect:vm", *SYSTEM, "--credential", "C:\\vm.xml")

    calls = powershell.read_text()
    assert "-Credential (Import-Clixml 'C:\\vm.xml')" in calls


@pytest.mark.parametrize(
    ("through", "words", "sentence"),
    [
        ("winrm:o'hara", (), "cannot be passed to PowerShell"),
        ("ssh vm", ("--credential", "x"), "--credential is only for"),
    ],
)
def test_words_unsafe_for_powershell_are_refused(
    run, powershell, through, words, sentence
):
    code, _, err = run(through, *SYSTEM, *words)

    assert code == 2
    assert sentence in err


def test_missing_powershell_is_reported(run, monkeypatch):
    monkeypatch.setattr("agents.measuring.remote.shutil.which", lambda name: None)

    code, _, err = run("winrm:vm-a", *SYSTEM)

    assert code == 2
    assert "PowerShell was not found" in err


def test_guest_in_a_plan_needs_a_name(call, enrolled):
    code, _, err = call("plan", "7", *SYSTEM, "--through", "env")

    assert (code, "--as" in err) == (2, True)
