"""Slices of `make chaos RUNS=` are added up, and earlier ones must not change."""

from devtools import chaos, chaos_series


def part(number, acknowledged=10, digests=None, **figures):
    study = f"chaos-{number}"
    zeros = dict.fromkeys(chaos.FAILURE_COUNTS, 0)
    known = {f"chaos-{n}": f"digest {n}" for n in range(1, number + 1)}
    return {
        **zeros,
        "acknowledged": acknowledged,
        "faults": 5,
        "seconds": 60,
        "kinds": 20 + number,
        "slowest_s": float(number),
        "study": study,
        "digests": digests or known,
        **figures,
    }


def test_slices_are_added_up():
    figures = chaos_series.totals([part(1), part(2, 30, lost=1)], 100)

    line = chaos_series.LINE.format(**figures)
    assert "40 of 100 uploads acknowledged in 2 slices" in line
    assert "10 faults of 22 kinds, 1 lost" in line
    assert "0 earlier slices changed, acknowledging again within 2.0 s" in line


def test_a_changed_or_missing_study_of_an_earlier_slice_is_found():
    changed = part(2, digests={"chaos-1": "other", "chaos-2": "digest 2"})
    missing = part(3, digests={"chaos-1": "digest 1", "chaos-3": "digest 3"})

    assert chaos_series.changed_studies([part(1), changed]) == 1
    assert chaos_series.changed_studies([part(1), part(2), missing]) == 1


def test_enough_uploads_start_no_product(tmp_path):
    (tmp_path / chaos_series.RECORD).write_text('{"acknowledged": 7}\n')

    assert chaos_series.run_slice(tmp_path, 1, 60, 7) == [{"acknowledged": 7}]
