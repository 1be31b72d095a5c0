from tests.benchmarks.plausibility.small_studies import cell, findings, run


def sized(system, size, **parameters):
    text = ",".join(f"{key}={value}" for key, value in parameters.items())
    facts = {"system": system, "is_native": False, "case": f"{size} {text}"}
    return cell(50.0, parameters={"size": size, **parameters}, **facts)


def changes(*cells, **facts):
    flagged = findings("parameters-differ", *cells, **facts)
    return [finding.evidence["parameters"] for finding in flagged]


def test_one_system_with_another_parameter_is_flagged():
    cells = [sized("a", "4k"), sized("b", "4k"), sized("c", "8k")]

    assert changes(*cells) == [[[["size", "8k", "4k"]]]]


def test_cases_with_the_same_difference_are_one_flag():
    usual = [sized(s, size, t="600") for s in "ab" for size in ("4k", "8k")]
    unlike = [sized("c", size, t="200") for size in ("4k", "8k")]

    assert changes(*usual, *unlike) == [
        [[["t", "200", "600"]], [["t", "200", "600"]]],
    ]


def test_equal_parameters_and_a_longer_sweep_are_not_flagged():
    cells = [sized(s, size) for s in "abc" for size in ("4k", "8k")]

    assert changes(*cells) == []
    assert changes(*cells, sized("c", "16k")) == []


def test_two_variants_on_several_systems_are_intended():
    cells = [sized(s, "4k") for s in "ab"] + [sized(s, "8k") for s in "cd"]

    assert changes(*cells) == []


def test_machine_names_differ_on_purpose():
    cells = [sized("a", "4k", to="node6"), sized("b", "4k", to="node7")]

    assert changes(*cells) == []


def test_varied_parameters_are_not_flagged():
    cells = [sized("a", "4k"), sized("b", "4k"), sized("c", "8k")]

    assert changes(*cells, varied=("size",)) == []


def timed(system, *elapsed):
    return [run(system=system, facts={"elapsed_s": time}) for time in elapsed]


def test_different_lengths_of_compared_systems_are_flagged():
    runs = [*timed("before", 100.0, 100.5, 100.1), *timed("after", 20.0, 20.1, 20.0)]

    [finding] = findings("length-differs", *runs)

    assert finding.evidence["lengths_s"] == {"after": 20.0, "before": 100.1}
    assert {subject.id for subject in finding.subjects} == {"before", "after"}


def test_two_of_three_runs_determine_the_length_of_a_test():
    after = timed("after", 20.0, 20.1, 20.0)

    assert findings("length-differs", *timed("before", 100.0, 100.5, 137.9), *after)
    assert not findings("length-differs", *timed("before", 100.0, 110.0, 137.9), *after)
    assert not findings("length-differs", *timed("before", 100.0, 100.5), *after)


def test_a_slow_system_that_takes_longer_is_not_flagged():
    slow = timed("after", 31.0, 55.2, 47.9)

    assert findings("length-differs", *timed("before", 20.0, 25.0, 31.0), *slow) == []


def test_as_many_runs_as_iterations_may_be_iterations():
    read = cell(96.0, 89.0, 90.0, 97.0, 90.0, parameters={"iterations": "5"})
    write = cell(62.0, 67.0, 67.0, 77.0, 75.0, parameters={"iterations": "5"})

    [finding] = findings("iterations-as-runs", read, write)

    assert finding.severity == "check"
    assert len(finding.subjects) == 2


def test_other_numbers_of_runs_and_single_runs_are_not_flagged():
    cells = [
        cell(96.0, 89.0, parameters={"iterations": "5"}),
        cell(96.0, parameters={"repetitions": "1"}),
    ]

    assert findings("iterations-as-runs", *cells) == []
