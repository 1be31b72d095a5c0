"""Start a program in a KVM guest by QEMU's guest agent, asked through libvirt.

`virsh qemu-agent-command` speaks its protocol (`guest-exec`, `guest-exec-status`:
QEMU's qga/qapi-schema.json). The guest needs no network and no account, but
`qemu-guest-agent`, which is allowed to execute. This is started as a program of its
own, as `ssh` is.
"""

import base64
import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List

from agents.programs import ended

# A look costs the guest time; the end is seen as much later.
_PAUSE_S = 0.05
_PATIENCE_S = 30.0
_SIGNALLED = 128  # as a shell says it


class GuestAgentError(Exception):
    """The guest was not asked, or did not answer."""


def command(domain: str) -> List[str]:
    """Return the words that start this; those for the guest stand behind them."""
    # The folder that `agents` lies in, or the one file that it is packed in.
    ours = os.path.abspath(__file__)
    for _ in range(3):
        ours = os.path.dirname(ours)
    script = "import sys; sys.path.insert(0, %r); " % ours
    script += "from agents.measuring import guest_agent; sys.exit(guest_agent.main())"
    return [sys.executable, "-c", script, domain]


def main() -> int:
    """Do what the command line says; end as the program there ended."""
    domain, words = sys.argv[1], sys.argv[2:]
    try:
        return run_there(domain, words)
    except GuestAgentError as error:
        print(error, file=sys.stderr)
        return 1


def run_there(domain: str, words: List[str]) -> int:
    """Start a program in a guest, wait for its end, and print what it printed."""
    wanted = {"path": words[0], "arg": words[1:], "capture-output": True}
    pid = _asked(domain, "guest-exec", wanted)["pid"]
    while True:
        state = _asked(domain, "guest-exec-status", {"pid": pid})
        if state["exited"]:
            break
        time.sleep(_PAUSE_S)
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        stream.buffer.write(base64.b64decode(state.get(name + "-data", "")))
        stream.flush()
        if state.get(name + "-truncated"):
            raise GuestAgentError("The guest's agent kept only a part of the output.")
    if "signal" in state:
        return _SIGNALLED + int(state["signal"])
    return int(state["exitcode"])


def _asked(domain: str, question: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
    text = json.dumps({"execute": question, "arguments": arguments})
    try:
        done = ended(["virsh", "qemu-agent-command", domain, text], _PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GuestAgentError("virsh: %s" % error) from None
    try:
        answer = json.loads(done.printed)["return"]
    except (ValueError, KeyError, TypeError):
        why = done.complaint.strip() or "virsh gave no answer."
        raise GuestAgentError(why) from None
    if not isinstance(answer, dict):
        raise GuestAgentError("virsh answered something else: %r" % (answer,))
    return answer
