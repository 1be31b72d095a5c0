from benchmarks.plausibility.findings import unique_subjects
from benchmarks.sentences import Sentence
from tests.benchmarks.plausibility.small_studies import findings, run

CUT = ("cut", "The output ends before its last line.")


def test_equal_warnings_of_one_tool_on_one_system_are_one_flag():
    runs = [run(parse_warnings=(CUT,)), run(parse_warnings=(CUT,)), run()]

    [finding] = findings("tool-mark", *runs)

    assert finding.subjects == unique_subjects("run", [runs[0].id, runs[1].id])
    assert finding.sentence.endswith("(2 runs): The output ends before its last line.")


def test_another_tool_system_or_message_is_another_flag():
    runs = [
        run(parse_warnings=(CUT, ("cut", "Another sentence."))),
        run("fio", parse_warnings=(CUT,)),
        run(system="xen", parse_warnings=(CUT,)),
    ]

    assert len(findings("tool-mark", *runs)) == 4


def test_runs_without_warnings_are_not_flagged():
    assert findings("tool-mark", run(), run()) == []


def fingerprints(*sentences):
    warned = run("fio", id=1, parse_warnings=[("errors", text) for text in sentences])
    return {finding.fingerprint for finding in findings("tool-mark", warned)}


def test_rewording_a_warning_does_not_change_its_fingerprint():
    before = Sentence("{n} errors in {job}.", n=5, job="a")
    after = Sentence("{job}: {what}.", job="a", what=Sentence("{n} failures", n=5))

    assert fingerprints(before) == fingerprints(after)
    assert fingerprints(before) != fingerprints(
        Sentence("{n} errors in {job}.", n=6, job="a")
    )


def test_two_warnings_of_a_run_that_differ_only_in_wording_are_two_flags():
    assert len(fingerprints(Sentence("One."), Sentence("Another."))) == 2
