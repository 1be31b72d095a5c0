"""Numbers on the command line: within limits, or a message and exit code 2."""

import os

import pytest

from agents.__main__ import main
from agents.argument_parsing import read_given_file
from agents.errors import UsageError

WRONG = {
    "run x --repetitions 0": "--repetitions: 0 is not from 1 to",
    "run x --repetitions -3": "--repetitions: -3 is not from 1 to",
    "run x --warm-up -1": "--warm-up: -1 is not from 0 to",
    "run x --seconds 0": "--seconds: 0 is not from 1 to",
    "run x --threads two": "invalid whole number value: 'two'",
    "run x --vcpus 0": "--vcpus: 0 is not from 1 to",
    "plan seven": "invalid whole number value: 'seven'",
    "plan 7 --patience-s nan": "--patience-s: nan is not from 0 to",
    "power rapl --seconds -1": "--seconds: -1 is not from 0 to",
    "watch --every -1": "--every: -1 is not from 0.01 to 3600",
    "watch --every inf": "--every: inf is not from 0.01 to 3600",
    "timeserver --port 70000": "--port: 70000 is not from 0 to 65535",
}


@pytest.mark.parametrize("words", WRONG)
def test_number_outside_its_limits_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())

    assert ended.value.code == 2
    assert WRONG[words] in capsys.readouterr().err


def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    for name in ("/dev/null", str(tmp_path / "pipe"), str(tmp_path)):
        with pytest.raises(UsageError, match="not a file"):
            read_given_file(name)
    with pytest.raises(UsageError, match="No such file"):
        read_given_file(str(tmp_path / "missing"))
