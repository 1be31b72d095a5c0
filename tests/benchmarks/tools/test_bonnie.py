"""Tables of Bonnie++ as people copy them: without CSV, shifted, or several in one."""

import pytest

from benchmarks.parsing import run_extraction

# Published in a blog in 2009 (1.03c, -f), without the CSV below it.
FAST = """\
Version 1.03c       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
whisper          8G           132035  24 56505  15           168485  25 325.7   1
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
               1024 20728  59 385904  85   352   0 11134  32 502866  97   222   0
"""
CUT_CSV = "whisper,8G,,,132035,24,56505,15,,,168485,25"

# Output of bon_csv2txt 2.00a for the CSV of two runs.
TWO_RUNS = """\
Version     2.00a   ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
one     64M::8192:5 3119k  99    0k +++    0k +++ 4556k  99    0k +++ +++++ +++
Latency              4786us      30us      36us    2429us      15us    4898us
two     64M::8192:5 3120k  99    0k +++    0k +++ 4557k  99    0k +++ +++++ +++
Latency              4787us      30us      36us    2429us      15us    4898us
"""


def throughputs(run):
    return {
        "{operation} by {by}".format_map(reading.parameters): reading.value
        for reading in run.readings
        if reading.metric == "throughput"
    }


@pytest.mark.parametrize("indent", [0, 1, 4, 5, 9])
@pytest.mark.parametrize("cut", ["", CUT_CSV])
def test_a_shifted_table_keeps_numbers_in_their_columns(indent, cut):
    text = "".join(f"{' ' * indent}{line}\n" for line in (FAST + cut).splitlines())
    (run,) = run_extraction.extract_runs(text.rstrip("\n") if cut else text)

    assert throughputs(run) == {
        "write by block": 132035,
        "rewrite by block": 56505,
        "read by block": 168485,
    }
    assert "table_only" in {warning.code for warning in run.warnings}


def test_a_version_without_a_name_above_the_files_has_file_rates():
    (run,) = run_extraction.extract_runs(FAST)

    rates = [reading.value for reading in run.readings if reading.metric == "file rate"]
    assert rates == [20728, 385904, 352, 11134, 502866, 222]
    assert run.tool_version == "1.03c"


def test_a_row_below_other_headings_is_rejected():
    shifted = FAST.replace("whisper          8G  ", "whisper          8G      ")
    (run,) = run_extraction.extract_runs(shifted)

    assert run.problem.line == 4


def test_two_rows_below_one_heading_are_two_runs():
    first, second = run_extraction.extract_runs(TWO_RUNS)

    assert throughputs(first)["write by character"] == 3119
    assert throughputs(second)["write by character"] == 3120
    (latency,) = [
        reading.value
        for reading in second.readings
        if reading.metric == "latency max"
        and reading.parameters.get("by") == "character"
        if reading.parameters["operation"] == "write"
    ]
    assert latency == 4787
