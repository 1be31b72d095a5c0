"""Least-squares models over a set of systems, and aliased effects.

See docs/factor-effects.md, Estimability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from benchmarks.analysis.factor_effects.factors_and_responses import (
    ROUNDING,
    Factor,
    Levels,
    Term,
)
from benchmarks.analysis.intervals import Floats

TOLERANCE: Final = 1e-8

LevelChanges = tuple[tuple[str, str], ...]
"""For each factor of a term, a level and its reference level."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A term whose effect cannot be separated from the effects of its partners.

    ``levels`` are the affected levels, empty if all are.
    """

    term: Term
    partners: tuple[Term, ...]
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect that can be estimated as ``weights @ responses``."""

    term: Term
    levels: LevelChanges
    weights: Floats


@dataclass(frozen=True)
class LinearModel:
    """A model matrix with one row per system.

    ``columns`` has the columns of each term, one per level except the reference.
    ``unstated`` has additional columns of a term for systems that do not report it.
    """

    terms: tuple[Term, ...]
    systems: Sequence[Levels]
    matrix: Floats
    columns: Mapping[Term, slice]
    unstated: Mapping[Term, slice]

    @classmethod
    def build(cls, terms: Sequence[Term], systems: Sequence[Levels]) -> LinearModel:
        mean = np.ones((len(systems), 1))
        factors = {factor for term in terms for factor in term}
        coded = {factor: factor.columns(systems) for factor in factors}
        blocks: dict[Term, Floats] = {}
        for term in terms:
            block = mean
            for factor in term:
                products = np.einsum("ij,ik->ijk", block, coded[factor])
                block = products.reshape(len(systems), -1)
            blocks[term] = block
        unstated: dict[Term, Floats] = {}
        for term in terms:
            columns = _unstated_columns(term, systems, coded)
            columns = columns[:, columns.any(axis=0)]
            if columns.size:
                # Leave out columns that the columns of other terms determine.
                base_blocks = [
                    block
                    for other, block in blocks.items()
                    if other != term and len(other) <= len(term)
                ]
                base_blocks += [
                    block for main, block in unstated.items() if len(main) < len(term)
                ]
                base = np.hstack([mean, *base_blocks])
                residual = columns - base @ (pseudo_inverse(base) @ columns)
                columns = columns[:, np.abs(residual).max(axis=0) > TOLERANCE]
            unstated[term] = columns
        matrix = np.hstack([mean, *blocks.values(), *unstated.values()])
        unstated_start = matrix.shape[1] - sum(
            block.shape[1] for block in unstated.values()
        )
        return cls(
            tuple(terms),
            systems,
            matrix,
            _column_slices(blocks, 1),
            _column_slices(unstated, unstated_start),
        )

    @property
    def error_df(self) -> int:
        return len(self.systems) - int(np.linalg.matrix_rank(self.matrix))


def _unstated_columns(
    term: Term, systems: Sequence[Levels], coded: Mapping[Factor, Floats]
) -> Floats:
    missing = [
        np.array([[not factor.level(system)] for system in systems], dtype=np.float64)
        for factor in term
    ]
    if len(term) == 1:
        return missing[0]
    (first, second), (no_first, no_second) = (coded[factor] for factor in term), missing
    return np.hstack([first * no_second, no_first * second, no_first * no_second])


def _column_slices(blocks: Mapping[Term, Floats], start: int) -> dict[Term, slice]:
    ends = np.cumsum([start, *(block.shape[1] for block in blocks.values())]).tolist()
    return {
        term: slice(*bounds)
        for term, bounds in zip(blocks, pairwise(ends), strict=True)
    }


def pseudo_inverse(matrix: Floats) -> Floats:
    inverted = np.linalg.pinv(matrix, rcond=TOLERANCE)
    return inverted.astype(np.float64)


def estimable_effects(model: LinearModel) -> Iterator[Estimate]:
    """Yield every effect that can be estimated.

    See docs/factor-effects.md, Effects.
    """
    solver = pseudo_inverse(model.matrix)
    for term in model.terms:
        for levels, direction in _directions(term):
            target = np.zeros(model.matrix.shape[1])
            target[model.columns[term]] = direction
            weights = target @ solver
            difference = np.abs(weights @ model.matrix - target)
            # The condition of np.allclose, whose checks take longer than the rest.
            if (difference <= TOLERANCE + 1e-5 * np.abs(target)).all():
                yield Estimate(term, levels, weights)


def _directions(term: Term) -> Iterator[tuple[LevelChanges, Floats]]:
    steps = []
    for factor in term:
        reference, *codes = factor.coding()
        others = zip(factor.levels[1:], codes, strict=True)
        steps.append(
            [((level, factor.levels[0]), code - reference) for level, code in others]
        )
    for chosen in product(*steps):
        direction = np.ones(1)
        for _, step in chosen:
            direction = np.outer(direction, step).ravel()
        yield tuple(pair for pair, _ in chosen), direction * 0.5 ** (len(term) - 1)


def aliased_main_effects(mains: LinearModel) -> tuple[Alias, ...]:
    null = _null_space(mains.matrix)
    shown = {(effect.term, effect.levels) for effect in estimable_effects(mains)}
    aliased = []
    for term in mains.terms:
        if np.abs(null[:, mains.columns[term]]).max() > TOLERANCE:
            partners = _partners(mains, null, term, mains.terms)
            changes = [levels for levels, _ in _directions(term)]
            hidden = [levels for levels in changes if (term, levels) not in shown]
            is_part = len(hidden) < len(changes)
            names = tuple(level for ((level, _),) in hidden) if is_part else ()
            aliased.append(Alias(term, partners, names))
    return tuple(aliased)


def find_interactions(mains: LinearModel) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    pairs: list[Term] = []
    for first, second in combinations([term[0] for term in mains.terms], 2):
        levels = [
            (first.level(system), second.level(system)) for system in mains.systems
        ]
        reported = [pair for pair in levels if all(pair)]
        if reported and all(
            len(set(column_levels)) > 1 for column_levels in zip(*reported, strict=True)
        ):
            pairs.append((first, second))
    if not pairs:
        return (), ()

    combined = LinearModel.build([*mains.terms, *pairs], mains.systems)
    residual = combined.matrix - mains.matrix @ (
        pseudo_inverse(mains.matrix) @ combined.matrix
    )
    residual[np.abs(residual) < TOLERANCE] = 0.0
    null = _null_space(residual)
    estimable, aliased = [], []
    for term in pairs:
        columns = combined.columns[term]
        if np.abs(null[:, columns]).max() < TOLERANCE:
            estimable.append(term)
            continue
        partners: tuple[Term, ...] = ()
        if residual[:, columns].any():
            partners = _partners(combined, null, term, pairs)
        if not partners:
            single = LinearModel.build([*mains.terms, term], mains.systems)
            single_null = _null_space(single.matrix)
            partners = _partners(single, single_null, term, mains.terms)
        aliased.append(Alias(term, partners))
    if all(columns.start == columns.stop for columns in combined.unstated.values()):
        return tuple(estimable), tuple(aliased)
    selected, rejected = _select_interactions(mains, estimable)
    return selected, (*aliased, *rejected)


def _select_interactions(
    mains: LinearModel, estimable: Sequence[Term]
) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    selected, rejected = mains, []
    shown = {(effect.term, effect.levels) for effect in estimable_effects(mains)}
    for term in estimable:
        trial = LinearModel.build([*selected.terms, term], mains.systems)
        required = shown | {(term, levels) for levels, _ in _directions(term)}
        hidden = required - {
            (effect.term, effect.levels) for effect in estimable_effects(trial)
        }
        if hidden:
            hidden_terms = {effect_term for effect_term, _ in hidden} - {term}
            partners = tuple(
                candidate for candidate in selected.terms if candidate in hidden_terms
            )
            rejected.append(Alias(term, partners))
        else:
            selected, shown = trial, required
    return selected.terms[len(mains.terms) :], tuple(rejected)


def _partners(
    model: LinearModel, null: Floats, term: Term, others: Sequence[Term]
) -> tuple[Term, ...]:
    is_coupled = np.abs(null[:, model.columns[term]]).max(axis=1) > TOLERANCE
    return tuple(
        candidate
        for candidate in others
        if candidate != term
        for slices in [(model.columns[candidate], model.unstated[candidate])]
        if any(is_coupled[columns].any() for columns in slices)
    )


def _null_space(matrix: Floats) -> Floats:
    null: Floats = np.eye(matrix.shape[1]) - pseudo_inverse(matrix) @ matrix
    return null


MAX_FACTORS: Final = 8
MIN_CONTRASTS: Final = 7
"""For Lenth's method, 3 contrasts would have one degree of freedom (m / 3)."""
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Contrast:
    """A column of -1 and 1, and all terms that have this column or its negative."""

    terms: tuple[Term, ...]
    column: tuple[float, ...]

    @property
    def simplest(self) -> tuple[Term, ...]:
        order = len(self.terms[0])
        return tuple(term for term in self.terms if len(term) == order)


@dataclass(frozen=True, slots=True)
class Lenth:
    """Lenth's pseudo standard error, margin of error and simultaneous margin."""

    contrasts: int
    pse: float
    me: float
    sme: float


def regular_contrasts(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Contrast, ...]:
    has_two_levels = all(len(factor.levels) == 2 for factor in factors)
    if not 0 < len(factors) <= MAX_FACTORS or not has_two_levels:
        return ()
    mains = {factor: factor.columns(systems)[:, 0] for factor in factors}
    if not all(column.all() for column in mains.values()):
        return ()
    aliases: dict[bytes, list[tuple[Term, Floats]]] = {}
    for order in range(1, len(factors) + 1):
        for term in combinations(factors, order):
            column = np.prod([mains[factor] for factor in term], axis=0)
            normalized = column * column[0]
            aliases.setdefault(normalized.tobytes(), []).append((term, column))
    contrasts = [
        Contrast(tuple(term for term, _ in members), tuple(members[0][1]))
        for members in aliases.values()
        if np.ptp(members[0][1])
    ]
    columns = [contrast.column for contrast in contrasts]
    matrix = np.array([np.ones(len(systems)), *columns])
    if len(matrix) != len(systems):
        return ()
    is_orthogonal = np.allclose(matrix @ matrix.T, len(systems) * np.eye(len(systems)))
    return tuple(contrasts) if is_orthogonal else ()


def lenth(contrasts: Floats) -> Lenth | None:
    """Return Lenth's margins for contrasts of equal variance; None for too few."""
    sizes = np.abs(contrasts)
    m = len(sizes)
    if m < MIN_CONTRASTS:
        return None
    within = sizes[sizes < 2.5 * 1.5 * np.median(sizes) - ROUNDING]
    pse = 1.5 * float(np.median(within)) if len(within) else 0.0
    if pse < ROUNDING:
        return None
    simultaneous = (1 + CONFIDENCE ** (1 / m)) / 2
    return Lenth(
        contrasts=m,
        pse=pse,
        me=float(stdtrit(m / 3, (1 + CONFIDENCE) / 2)) * pse,
        sme=float(stdtrit(m / 3, simultaneous)) * pse,
    )


def half_normal_quantiles(contrasts: Floats) -> Floats:
    """Daniel 1959. See docs/factor-effects.md, Chance."""
    m = len(contrasts)
    ranks = np.argsort(size_order(np.abs(contrasts)))
    quantiles: Floats = ndtri(0.5 + 0.5 * (ranks + 0.5) / m)
    return quantiles


def size_order(sizes: Floats) -> NDArray[np.intp]:
    """Return the indices that sort sizes, stable for sizes equal up to rounding."""
    order = np.argsort(sizes, kind="stable")
    is_larger = np.diff(sizes[order], prepend=-np.inf) > ROUNDING
    tiers = np.empty(len(sizes))
    tiers[order] = np.cumsum(is_larger)
    return np.argsort(tiers, kind="stable")
