"""The paths of a network in words: what a setting changed, which way is slower."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.paths import Asymmetry, Ends
from benchmarks.comparing.network import Matrix, NetworkMetric, Path
from benchmarks.comparing.table import Fact
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.table_cells import row_figure


def setting_name(matrix: Matrix) -> str:
    """Return under which setting a matrix was measured."""
    return ", ".join(_fact(each) for each in matrix.setting) or _("As measured")


def _fact(fact: Fact) -> str:
    if fact.name == "tuned" and fact.value in {"no", "off"}:
        return _("before tuning")
    if fact.name == "tuned" and fact.value in {"yes", "on"}:
        return _("after tuning")
    return wording.fact_text(fact) if fact.value else _("not stated")


def ends_text(ends: Ends) -> str:
    """Return a path as it is read: ``vm4 → node7``."""
    return f"{ends[0]} → {ends[1]}"


def _times(factor: float) -> str:
    return figures.exact(float(f"{factor:.3g}"))


def medium_name(path: Path) -> str:
    """Return what a path goes over."""
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
    runs = wording.runs_text(path.cell.n)
    parts = [f"{value}, {medium_name(path)}, {runs}."]
    parts.extend(filter(None, [wording.said(path.figure.reason)]))
    if asymmetry:
        words = (ends_text(asymmetry.larger), _times(asymmetry.factor))
        parts.append(_("%s carries %s times what comes back.") % words)
    return " ".join(parts)


def sentences(metric: NetworkMetric) -> Iterator[str]:
    """Say what the setting changed, which directions differ, how near the wire is."""
    if len(metric.matrices) == 2:
        yield from _change(metric, *metric.matrices)
    if metric.better == "higher":
        told = [_asymmetry(matrix) for matrix in reversed(metric.matrices)]
        yield from [each for each in told if each][:1]
        yield from _wire(metric)
    yield from _doubts(metric)


def _change(metric: NetworkMetric, before: Matrix, after: Matrix) -> Iterator[str]:
    changes = {
        ends: change
        for ends, path in after.paths.items()
        if (change := change_of(before.paths.get(ends), path)) is not None
    }
    if not changes or metric.better not in ("higher", "lower"):
        return
    ranked = sorted(changes, key=changes.__getitem__)
    if metric.better == "lower":
        ranked.reverse()
    better, worse = ranked[-1], ranked[0]
    words = {
        "setting": setting_name(after),
        "n": len(changes),
        "best": ends_text(better),
        "gain": _times(changes[better]),
        "worst": ends_text(worse),
        "loss": _times(changes[worse]),
    }
    said = change_text(*(_is_gain(metric, changes[each]) for each in (better, worse)))
    yield _sentence(said % words, [*before.paths.values(), *after.paths.values()])


def _is_gain(metric: NetworkMetric, factor: float) -> bool:
    return factor >= 1 if metric.better == "higher" else factor <= 1


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
    if not matrix.asymmetries:
        return ""
    first = matrix.asymmetries[0]
    path, back = matrix.paths[first.larger], matrix.paths[first.larger[::-1]]
    unit = path.cell.case.unit
    words = {
        "setting": setting_name(matrix),
        "path": ends_text(first.larger),
        "factor": _times(first.factor),
        "more": wording.quantity(path.value, unit),
        "less": wording.quantity(back.value, unit),
        "medium": medium_name(path),
    }
    said = _(
        "Asymmetric: %(setting)s, %(path)s is %(factor)s times as fast as the way "
        "back (%(more)s against %(less)s, %(medium)s)"
    )
    others = len(matrix.asymmetries) - 1
    more = ngettext(
        "; %(n)s other pair differs by more than a quarter.",
        "; %(n)s other pairs differ by more than a quarter.",
        others,
    )
    end = more % {"n": others} if others else "."
    return _sentence(said % words + end, [path, back])


def _wire(metric: NetworkMetric) -> Iterator[str]:
    """Say how much of the wire the best path has, for the last setting."""
    paths = metric.matrices[-1].paths.values()
    rated = [path for path in paths if path.share is not None]
    if not rated:
        return
    best = max(rated, key=lambda path: path.share or 0.0)
    worst = min(rated, key=lambda path: path.share or 0.0)
    yield _(
        "The wire carries %(rate)s: %(best)s has %(most)d %% of it, %(worst)s "
        "%(least)d %%."
    ) % {
        "rate": wording.quantity(best.line_rate, metric.unit),
        "best": ends_text(best.ends),
        "most": round(100 * (best.share or 0.0)),
        "worst": ends_text(worst.ends),
        "least": round(100 * (worst.share or 0.0)),
    }


def _doubts(metric: NetworkMetric) -> Iterator[str]:
    paths = [path for matrix in metric.matrices for path in matrix.paths.values()]
    flagged = sum(bool(path.flags) for path in paths)
    if flagged:
        yield ngettext(
            "%(n)s of %(all)s paths is flagged: read it with the doubts below.",
            "%(n)s of %(all)s paths are flagged: read them with the doubts below.",
            flagged,
        ) % {"n": flagged, "all": len(paths)}


def _sentence(text: str, paths: Sequence[Path]) -> str:
    """Begin with a capital, and say so where nothing was measured twice."""
    single = all(path.cell.n == 1 for path in paths)
    said = text[:1].upper() + text[1:]
    return " ".join([said, _("Single runs.")]) if single else said
