from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.comparability import Comparability
from benchmarks.comparison.comparison_row import ComparisonResult
from benchmarks.models import Study
from dashboard import wording
from dashboard.wording import Text

COMPARABILITY_TEXTS: dict[str, tuple[Text, Text]] = {
    "full": (
        gettext_lazy("comparable"),
        gettext_lazy("Only factors of the study differ: %(what)s."),
    ),
    "limited": (
        gettext_lazy("comparable with caution"),
        gettext_lazy("Also different: %(what)s."),
    ),
    "none": (gettext_lazy("not comparable"), "%(why)s"),
}
MAX_LISTED_REASONS = 5
FACTORS_NOT_DECLARED: Text = gettext_lazy(
    "The study does not declare its factors. Besides hypervisor, version and type, "
    "these differ: %(what)s."
)


def comparability_legend(
    results: Iterable[ComparisonResult],
) -> tuple[dict[str, Any], ...]:
    counts = Counter(
        (result.comparability, result.comparability_reason)
        for result in results
        if result.comparability
    )
    legend = []
    for rating, (label, _sentence) in reversed(COMPARABILITY_TEXTS.items()):
        counts_by_reason = {
            reason: n
            for (result_rating, reason), n in counts.items()
            if result_rating == rating
        }
        if not counts_by_reason:
            continue
        ordered = sorted(counts_by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
        listed = ordered[:MAX_LISTED_REASONS] if rating != "full" else []
        legend.append(
            {
                "rating": rating,
                "word": str(label),
                "count": sum(counts_by_reason.values()),
                "sentences": tuple(
                    (n, wording.translate_text(reason)) for reason, n in listed
                ),
                "more": len(ordered) - len(listed) if listed else 0,
            }
        )
    return tuple(legend)


def comparability_details(study: Study, compared: Comparability) -> dict[str, Any]:
    rating, unwanted, studied = compared.rating, compared.unwanted, compared.studied
    label, sentence = COMPARABILITY_TEXTS[rating]
    if rating == "limited" and unwanted and not study.factors:
        sentence = FACTORS_NOT_DECLARED
    if rating == "limited" and not unwanted:
        sentence = _("Several factors of the study differ at once: %(what)s.")
    main_differences = unwanted or studied
    names = ", ".join(
        wording.property_name(difference.name) for difference in main_differences
    )
    values = {"what": names, "why": wording.translate_text(compared.sentence)}
    return {
        "rating": rating,
        "word": str(label),
        "sentence": str(sentence) % values
        if main_differences
        else _("No differences."),
        "differences": [
            {
                "name": wording.property_name(difference.name),
                "first": _value_text(difference.name, difference.first),
                "second": _value_text(difference.name, difference.second),
                "is_studied": is_studied,
            }
            for differences, is_studied in ((unwanted, False), (studied, True))
            for difference in differences
        ],
    }


def _value_text(name: str, value: str) -> str:
    return wording.property_value(name, value) or _("not reported")
