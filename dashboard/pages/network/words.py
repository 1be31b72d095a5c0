"""The paths of a network in words: what a setting changed, which way is slower."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.paths import Asymmetry, Ends
from benchmarks.comparing.network import Matrix, NetworkMetric, Path
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.table_cells import row_figure


def all_paths(metric: NetworkMetric) -> list[Path]:
    return [path for matrix in metric.matrices for path in matrix.paths.values()]


def setting_name(matrix: Matrix) -> str:
    """Return under which setting a matrix was measured."""
    tuned = dict.fromkeys(("no", "off"), _("before tuning"))
    tuned |= dict.fromkeys(("yes", "on"), _("after tuning"))
    names = []
    for fact in matrix.setting:
        if fact.name == "tuned" and fact.value in tuned:
            names.append(tuned[fact.value])
        else:
            names.append(wording.fact_text(fact) if fact.value else _("not stated"))
    return ", ".join(names) or _("As measured")


def ends_text(ends: Ends) -> str:
    """Return a path as it is read: ``vm4 → node7``."""
    return f"{ends[0]} → {ends[1]}"


def _times(factor: float) -> str:
    return figures.exact(float(f"{factor:.3g}"))


def medium_name(path: Path) -> str:
    return {
        "loopback": _("loopback"),
        "inside": _("within the host"),
        "wire": _("over the wire"),
        "unknown": _("over what was not stated"),
    }[path.medium]


def path_sentence(path: Path, asymmetry: Asymmetry | None) -> str:
    """Return a path in full, for its tooltip."""
    flags = [wording.said(flag.sentence) for flag in path.flags]
    return " ".join([f"{ends_text(path.ends)}: {_path(path, asymmetry)}", *flags])


def heard_path(path: Path, asymmetry: Asymmetry | None) -> str:
    """Return a path for those who hear its heads, and one flag for many paths."""
    flagged = [_("Flagged.")] if path.flags else []
    return " ".join([_path(path, asymmetry), *flagged])


def _path(path: Path, asymmetry: Asymmetry | None) -> str:
    unit = path.cell.case.unit
    value = wording.quantity(path.value, unit, whole=True)
    value = value or row_figure(path.figure, unit)
    parts = [f"{value}, {medium_name(path)}, {wording.runs_text(path.cell.n)}."]
    if reason := wording.said(path.figure.reason):
        parts.append(reason)
    if asymmetry:
        words = (ends_text(asymmetry.larger), _times(asymmetry.factor))
        parts.append(_("%s carries %s times what comes back.") % words)
    return " ".join(parts)


def sentences(metric: NetworkMetric) -> Iterator[str]:
    """Say what the setting changed, which directions differ, how near the wire is."""
    if len(metric.matrices) == 2 and metric.better in ("higher", "lower"):
        yield from _change(metric, *metric.matrices)
    if metric.better == "higher":
        uneven = [matrix for matrix in metric.matrices if matrix.asymmetries]
        if uneven:
            yield _asymmetry(uneven[-1])
        # How much of the wire the best path has, for the last setting.
        paths = metric.matrices[-1].paths
        shares = {
            ends: path.share for ends, path in paths.items() if path.share is not None
        }
        if shares:
            best = max(shares, key=shares.__getitem__)
            worst = min(shares, key=shares.__getitem__)
            yield _(
                "The wire carries %(rate)s: %(best)s has %(most)d %% of it, %(worst)s "
                "%(least)d %%."
            ) % {
                "rate": wording.quantity(paths[best].line_rate, metric.unit),
                "best": ends_text(best),
                "most": round(100 * shares[best]),
                "worst": ends_text(worst),
                "least": round(100 * shares[worst]),
            }
    flags = [path.flags for path in all_paths(metric)]
    flagged = sum(map(bool, flags))
    if flagged:
        yield ngettext(
            "%(n)s of %(all)s paths is flagged: read it with the doubts below.",
            "%(n)s of %(all)s paths are flagged: read them with the doubts below.",
            flagged,
        ) % {"n": flagged, "all": len(flags)}


def _change(metric: NetworkMetric, before: Matrix, after: Matrix) -> Iterator[str]:
    changes = {
        ends: change
        for ends, path in after.paths.items()
        if (change := change_of(before.paths.get(ends), path)) is not None
    }
    if not changes:
        return
    is_rate = metric.better == "higher"
    ranked = sorted(changes, key=changes.__getitem__)
    if not is_rate:
        ranked.reverse()
    worst, best = ranked[0], ranked[-1]
    gains = [
        changes[ends] >= 1 if is_rate else changes[ends] <= 1 for ends in (best, worst)
    ]
    words = {
        "setting": setting_name(after),
        "n": len(changes),
        "best": ends_text(best),
        "gain": _times(changes[best]),
        "worst": ends_text(worst),
        "loss": _times(changes[worst]),
    }
    paths = [*before.paths.values(), *after.paths.values()]
    yield _sentence(change_text(*gains) % words, paths)


def change_text(is_best_gain: bool, is_worst_gain: bool) -> str:
    """Return the sentence's template; a path that lost did not gain the least."""
    if not is_best_gain:
        return _(
            "%(setting)s, of %(n)s paths measured both times, none gained: %(worst)s "
            "lost the most (%(loss)s times what it was)."
        )
    if not is_worst_gain:
        return _(
            "%(setting)s, of %(n)s paths measured both times, %(best)s gained the most "
            "(%(gain)s times what it was) and %(worst)s lost the most (%(loss)s times)."
        )
    return _(
        "%(setting)s, of %(n)s paths measured both times, %(best)s gained the most "
        "(%(gain)s times what it was) and %(worst)s the least (%(loss)s times)."
    )


def change_of(before: Path | None, after: Path) -> float | None:
    """Return a path as a multiple of what it was; None where either is no figure."""
    old, new = before.value if before else None, after.value
    return new / old if old and new and min(old, new) > 0 else None


def _asymmetry(matrix: Matrix) -> str:
    first, *others = matrix.asymmetries
    path, back = matrix.paths[first.larger], matrix.paths[first.larger[::-1]]
    unit = path.cell.case.unit
    text = _(
        "Asymmetric: %(setting)s, %(path)s is %(factor)s times as fast as the way "
        "back (%(more)s against %(less)s, %(medium)s)"
    ) % {
        "setting": setting_name(matrix),
        "path": ends_text(first.larger),
        "factor": _times(first.factor),
        "more": wording.quantity(path.value, unit),
        "less": wording.quantity(back.value, unit),
        "medium": medium_name(path),
    }
    end = "."
    if others:
        # A quarter is CLEAR of benchmarks.analysis.paths.
        end = ngettext(
            "; %(n)s other pair differs by more than a quarter.",
            "; %(n)s other pairs differ by more than a quarter.",
            len(others),
        ) % {"n": len(others)}
    return _sentence(text + end, [path, back])


def _sentence(text: str, paths: Sequence[Path]) -> str:
    """Begin with a capital, and say so where nothing was measured twice."""
    capital = text[:1].upper() + text[1:]
    is_single = all(path.cell.n == 1 for path in paths)
    return " ".join([capital, _("Single runs.")]) if is_single else capital
