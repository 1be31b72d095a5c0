"""The sentence above a comparison."""

from dashboard.pages.compare.page import answer_sentence


def test_answer_names_platforms_best_first_with_their_verdicts():
    sentence = answer_sentence(
        {"Xen 3.3": [0.5, 0.7], "KVM": [0.96]}, {"slower": 3, "not_assessed": 2}, ""
    )

    assert "bare metal: KVM 96%, Xen 3.3 50\N{EN DASH}70%." in sentence
    assert sentence.index("3 slower") < sentence.index("2 not assessed")


def test_answer_names_another_baseline_and_few_platforms():
    ratios = {f"Platform {number}": [number / 10] for number in range(1, 10)}

    sentence = answer_sentence(ratios, {}, "Xen 3.3")

    assert "relative to Xen 3.3: Platform 9 90%" in sentence
    assert "4 others" in sentence


def test_answer_without_ratios_or_verdicts_is_short():
    assert answer_sentence({}, {"slower": 3}, "") == ""
    assert "erdict" not in answer_sentence({"KVM": [1.0]}, {"not_assessed": 9}, "")
