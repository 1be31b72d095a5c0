"""Download the agent, enroll it, and measure: `python3 - CODE [--host NAME]`.

The server serves this program with its own address in place of @SERVER@.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request

SERVER = "@SERVER@"
FOLDER = os.environ.get("VIRTLAB_AGENT") or os.path.expanduser("~/.virtlab-agent")
NAME = "virtlab-agent.pyz"
HYPERVISOR = "--hypervisor"
# A program, and a short benchmark that needs it.
FIRST = (
    ("sysbench", ["sysbench:cpu,memory", "--seconds", "1"]),
    ("stress-ng", ["stress-ng", "--seconds", "1"]),
    ("hackbench", ["hackbench"]),
    ("gcc", ["virtlab-linpack", "--sizes", "500", "--iterations", "3"]),
)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("Copy the complete line of the page, including its code.")
    try:
        agent, checksum = (
            urllib.request.urlopen(SERVER + "/agent/" + name, timeout=30).read()
            for name in (NAME, NAME + ".sha256")
        )
    except OSError as error:
        sys.exit("%s cannot be reached: %s" % (SERVER, error))
    if hashlib.sha256(agent).hexdigest() != checksum.split()[0].decode():
        sys.exit("The downloaded agent is damaged. Run the line again.")
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    path = os.path.join(FOLDER, NAME)
    with open(path, "wb") as file:
        file.write(agent)
    words, arguments, stated = [sys.executable, path], sys.argv[1:], []
    if HYPERVISOR in arguments[:-1]:
        # An option of the run, which is needed if it cannot be detected.
        place = arguments.index(HYPERVISOR)
        stated = arguments[place : place + 2]
        del arguments[place : place + 2]
    code = subprocess.call(
        [*words, "enroll", "--server", SERVER, "--code", *arguments],
        stdin=subprocess.DEVNULL,
    )
    if code:
        sys.exit(code)
    found = [options for program, options in FIRST if shutil.which(program)]
    if not found:
        sys.exit(
            "Enrolled. To measure, install a tool, such as: apt install sysbench\n"
            "Then run: python3 %s run sysbench:cpu,memory" % path
        )
    command = [*words, "run", *stated, *found[0]]
    print("Running: " + " ".join(command), flush=True)
    sys.exit(subprocess.call(command, stdin=subprocess.DEVNULL))


if __name__ == "__main__":
    main()
