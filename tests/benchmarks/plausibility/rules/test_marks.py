from benchmarks.plausibility.findings import subjects
from tests.benchmarks.plausibility.cast import findings, run

CUT = ("cut", "The output ends before its last line.")


def test_equal_marks_of_one_tool_on_one_system_are_one_flag():
    runs = [run(marks=(CUT,)), run(marks=(CUT,)), run()]

    [finding] = findings("tool-mark", *runs)

    assert finding.subjects == subjects("run", [runs[0].id, runs[1].id])
    assert finding.sentence.endswith("(2 runs): The output ends before its last line.")


def test_another_tool_system_or_sentence_is_a_flag_of_its_own():
    runs = [
        run(marks=(CUT, ("cut", "Another sentence."))),
        run("fio", marks=(CUT,)),
        run(system="xen", marks=(CUT,)),
    ]

    assert len(findings("tool-mark", *runs)) == 4


def test_runs_without_marks_are_silent():
    assert findings("tool-mark", run(), run()) == []
