from datetime import UTC, datetime, timedelta

from tests.benchmarks.plausibility.small_studies import cell, findings

GIB = 2**30
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def guest(system, *means, case="read", memory=4, day=None, **options):
    dates, means = {}, means or (100.0, 101.0, 99.0)
    if day is not None:
        start = NOON + timedelta(days=day)
        dates = {"first_at": start, "last_at": start + timedelta(hours=1)}
        dates["session_names"] = (f"day {day}",) * len(means)
    return cell(
        *means,
        system=system,
        system_label=system,
        case=case,
        hypervisor="KVM",
        memory_bytes=memory * GIB,
        options=options,
        **dates,
    )


def test_one_label_may_not_name_different_options():
    one = guest("a", setting="final", cache="none")
    other = guest("b", setting="final", cache="none", numa="2", case="write")

    [finding] = findings("label-of-two-systems", one, other)

    assert finding.evidence == {"labels": ["final"], "options": ["numa"]}
    assert {subject.id for subject in finding.subjects} == {"a", "b"}


def test_one_label_may_not_name_different_sizes():
    cells = [guest("a", profile="base"), guest("b", profile="base", memory=8)]

    [finding] = findings("label-of-two-systems", *cells)

    assert finding.evidence["options"] == ["memory_bytes"]


def test_labels_of_one_system_each_are_correct():
    cells = [guest("a", setting="v1"), guest("a", setting="v1", case="write")]

    assert not findings(
        "label-of-two-systems", *cells, guest("b", setting="v2", io="1")
    )


def test_a_repeated_reference_that_moved_is_found():
    old, new = guest("old", setting="v1"), guest("new", *[107, 108, 106], setting="v39")

    [finding] = findings("equal-settings-differ", old, new)

    assert {subject.id for subject in finding.subjects} == {old.id, new.id}
    assert finding.evidence["factors"] == [1.07]


def test_equal_settings_with_equal_results_or_other_options_are_correct():
    old = guest("old", setting="v1")

    assert not findings("equal-settings-differ", old, guest("new", setting="v39"))
    assert not findings(
        "equal-settings-differ", old, guest("new", 130, 131, 129, setting="v2", io="1")
    )


def test_settings_of_one_day_each_are_confounded_with_the_day():
    cells = [
        guest("a", day=0, controller="lsi"),
        guest("b", day=1, controller="pvscsi"),
    ]

    [finding] = findings("setting-and-day", *cells)

    assert finding.evidence["days"] == ["2026-05-01", "2026-05-02"]


def test_settings_of_one_session_and_undated_settings_are_not_confounded():
    together = [guest("a", day=0, controller="lsi"), guest("b", day=0, controller="pv")]
    undated = [guest("a", controller="lsi"), guest("b", controller="pv")]

    assert not findings("setting-and-day", *together)
    assert not findings("setting-and-day", *undated)


def test_a_smaller_guest_with_another_option_is_found():
    usual = [guest(f"usual {number}", io=str(number)) for number in range(4)]
    small = guest("small", memory=2, hugepages="1 GiB")

    [finding] = findings("size-differs", *usual, small)

    assert [subject.id for subject in finding.subjects] == [small.id]
    assert "2 GiB" in finding.sentence


def test_a_setting_that_was_also_measured_at_the_usual_size_is_not_confounded():
    usual = [guest(f"usual {number}", io=str(number)) for number in range(5)]
    larger = guest("larger", memory=16, io="0", setting="large")

    assert not findings("size-differs", *usual, larger)


def test_a_smaller_guest_with_another_label_is_found():
    usual = [guest(f"usual {number}", setting=f"v{number}") for number in range(4)]

    assert findings("size-differs", *usual, guest("small", memory=2, setting="v9"))


def test_guests_of_several_sizes_have_no_usual_size():
    cells = [guest(f"guest {size}", memory=size, io="1") for size in (1, 2, 4, 8)]

    assert not findings("size-differs", *cells)
