"""Fail a build if a guest became slower than before.

Runs a benchmark in turns in a guest of the last build and in one of this build, uploads
the outputs, and prints each ratio with its 95 % interval. The exit code is 1 if a
result is slower: its whole interval is below 1, by more than the study's equivalence
margin. It is 2 if no result has a verdict, so that nothing was proven, 3 for errors.

    export VIRTLAB_SERVER=https://virtlab.example VIRTLAB_TOKEN=...  # scope: manage
    python3 guest_regression.py --study ci-1234 --host runner-1 --hypervisor KVM \
        --tool sysbench --before "ssh guest-main sysbench cpu run" \
        --after "ssh guest-new sysbench cpu run"
"""

import argparse
import datetime
import random
import shlex
import subprocess
import sys
import uuid

import virtlab

ERRORS = (
    OSError,
    subprocess.SubprocessError,
    virtlab.RefusedError,
    virtlab.UnreachableError,
)


def main(arguments=None):
    options = read_options(arguments)
    client = virtlab.connect()
    client.register_host({"slug": options.host})
    title = f"Guest before and after: {options.study}"
    client.create_study(
        {"slug": options.study, "title": title, "visibility": "private"}
    )
    systems = {
        name: client.register_system(
            {
                "host": options.host,
                "hypervisor": options.hypervisor,
                "options": {"build": name},
            }
        )["id"]
        for name in ("before", "after")
    }
    for _ in range(options.runs):
        # A random order, so that a drift of the machine does not look like a change.
        for name in random.sample(list(systems), 2):
            virtlab.upload([measure(options, name, systems[name])])
    virtlab.wait(options.study, timeout_s=options.timeout)
    rows = client.get_all(
        "comparisons/", study=options.study, baseline=systems["before"]
    )
    return report([row for row in rows if row["system_id"] == systems["after"]])


def measure(options, name, system):
    started_at = datetime.datetime.now().astimezone().isoformat()
    command = shlex.split(getattr(options, name))
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return {
        "key": str(uuid.uuid4()),
        "study": options.study,
        "system": system,
        "tool": options.tool,
        "output": done.stdout.decode("utf-8", "replace"),
        "started_at": started_at,
    }


def report(rows):
    """Print a line for each ratio; return the exit code."""
    for row in rows:
        ratio = row["relative_to_reference"]
        if ratio is not None:
            ends = "no interval"
            if row["low"] is not None:
                ends = f"{row['low']:.3f} to {row['high']:.3f}"
            print(f"{row['case']}: {ratio:.3f} ({ends}), {row['verdict']}")
    verdicts = {row["verdict"] for row in rows}
    if "slower" in verdicts:
        print("This build is slower.")
        return 1
    if not verdicts & {"faster", "equivalent", "undetermined"}:
        print("No result could be judged: at least 5 runs of each guest are needed.")
        return 2
    print("No result is slower.")
    return 0


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("study", "host", "hypervisor", "tool", "before", "after"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runs", type=int, default=10, help="of each guest")
    parser.add_argument("--timeout", type=float, default=600, help="in seconds")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ERRORS as error:
        print(error, file=sys.stderr)
        sys.exit(3)
