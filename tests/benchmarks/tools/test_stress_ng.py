"""stress-ng: a stressor that did nothing has no result."""

from benchmarks.parsing import run_extraction

# Printed by 0.15.06 with --seq 1, stopped after 30 s.
STOPPED = """\
stress-ng: metrc: [25234] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s CPU used per       RSS Max
stress-ng: metrc: [25234]                           (secs)    (secs)    (secs)   (real time) (usr+sys time) instance (%)          (KB)
stress-ng: metrc: [25234] bsearch             104      1.04      0.68      0.00        99.97         152.60        65.51          2684
stress-ng: metrc: [25234] zlib                  0      0.00      0.00      0.00         0.00           0.00         0.00             0
"""  # noqa: E501 - as it was printed


def test_a_stressor_that_did_not_run_is_omitted():
    (run,) = run_extraction.extract_runs(STOPPED)

    assert {reading.parameters["stressor"] for reading in run.readings} == {"bsearch"}
    assert {warning.code for warning in run.warnings} == {"not_run"}
