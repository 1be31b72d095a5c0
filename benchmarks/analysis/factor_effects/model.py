"""Least-squares models over a set of systems, and which effects are aliased.

An effect g'b can be estimated if and only if g lies in the row space of the model
matrix X (Searle, Linear Models, 1971, chapter 5); then it is g'X+ y. Systems that do
not state a parameter get a coefficient, unless the other factors determine these
systems: then they count as an average level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from benchmarks.analysis.factor_effects.design import (
    ROUNDING,
    Factor,
    Levels,
    Term,
)
from benchmarks.analysis.intervals import Floats

NOTHING: Final = 1e-8

LevelPairs = tuple[tuple[str, str], ...]
"""For each factor of a term: a level, and the level it is compared with."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A term equal to its partners; ``levels`` empty: the whole term."""

    term: Term
    partners: tuple[Term, ...]
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect that can be estimated: its value is weights'y."""

    term: Term
    levels: LevelPairs
    weights: Floats


@dataclass(frozen=True)
class Model:
    """A design matrix with one row per system.

    ``places`` are the columns of each term, one per level beside the reference (or pair
    of such levels); ``unstated`` those of the systems that do not state it.
    """

    terms: tuple[Term, ...]
    systems: Sequence[Levels]
    matrix: Floats
    places: Mapping[Term, slice]
    unstated: Mapping[Term, slice]

    @classmethod
    def of(cls, terms: Sequence[Term], systems: Sequence[Levels]) -> Model:
        """Build the matrix; main effects come before the interactions."""
        mean = np.ones((len(systems), 1))
        blocks: dict[Term, Floats] = {}
        for term in terms:
            block = mean
            for factor in term:
                products = np.einsum("ij,ik->ijk", block, factor.columns(systems))
                block = products.reshape(len(systems), -1)
            blocks[term] = block
        lacking: dict[Term, Floats] = {}
        for term in terms:
            columns = _unstated_columns(term, systems)
            # Zeros only: every system states it.
            columns = columns[:, columns.any(axis=0)]
            if columns.size:
                # What the other main effects settle belongs to them; an interaction
                # gives way to the other interactions as well.
                known = [
                    block
                    for other, block in blocks.items()
                    if other != term and len(other) <= len(term)
                ]
                known += [
                    block for main, block in lacking.items() if len(main) < len(term)
                ]
                base = np.hstack([mean, *known])
                # Only what is no combination of known columns stays.
                left = columns - base @ (inverse(base) @ columns)
                columns = columns[:, np.abs(left).max(axis=0) > NOTHING]
            lacking[term] = columns
        matrix = np.hstack([mean, *blocks.values(), *lacking.values()])
        behind = matrix.shape[1] - sum(block.shape[1] for block in lacking.values())
        return cls(
            tuple(terms), systems, matrix, _places(blocks, 1), _places(lacking, behind)
        )

    @property
    def error_df(self) -> int:
        """Systems that are left over when all terms are fitted."""
        return len(self.systems) - int(np.linalg.matrix_rank(self.matrix))


def _unstated_columns(term: Term, systems: Sequence[Levels]) -> Floats:
    """Return columns of the systems that do not state all of a term's factors."""
    missing = [
        np.array(
            [[not factor.level_of(system)] for system in systems], dtype=np.float64
        )
        for factor in term
    ]
    if len(term) == 1:
        return missing[0]
    (one, other), (no_one, no_other) = (f.columns(systems) for f in term), missing
    return np.hstack([one * no_other, no_one * other, no_one * no_other])


def _places(blocks: Mapping[Term, Floats], start: int) -> dict[Term, slice]:
    ends = np.cumsum([start, *(block.shape[1] for block in blocks.values())]).tolist()
    return {
        term: slice(*place) for term, place in zip(blocks, pairwise(ends), strict=True)
    }


def inverse(matrix: Floats) -> Floats:
    """The pseudo-inverse X+; directions that only rounding made are none."""
    inverted = np.linalg.pinv(matrix, rcond=NOTHING)
    return inverted.astype(np.float64)


def estimates(model: Model) -> Iterator[Estimate]:
    """Return every effect that the systems can estimate.

    Main effects are level minus reference; an interaction is half the difference of
    such differences (Box, Hunter and Hunter's convention).
    """
    solver = inverse(model.matrix)
    for term in model.terms:
        for levels, direction in _directions(term):
            wanted = np.zeros(model.matrix.shape[1])
            wanted[model.places[term]] = direction
            weights = wanted @ solver
            if np.allclose(weights @ model.matrix, wanted, atol=NOTHING):
                yield Estimate(term, levels, weights)


def _directions(term: Term) -> Iterator[tuple[LevelPairs, Floats]]:
    """Every change of levels that a term has an effect for, in its coefficients."""
    steps = [
        [
            ((level, factor.levels[0]), code - factor.coding()[0])
            for level, code in zip(factor.levels[1:], factor.coding()[1:], strict=True)
        ]
        for factor in term
    ]
    for chosen in product(*steps):
        direction = np.ones(1)
        for _, step in chosen:
            direction = np.kron(direction, step)
        yield tuple(pair for pair, _ in chosen), direction * 0.5 ** (len(term) - 1)


def aliased_mains(mains: Model) -> tuple[Alias, ...]:
    """Return the factors whose levels never changed apart from other factors'."""
    null = _null_space(mains.matrix)
    shown = {(effect.term, effect.levels) for effect in estimates(mains)}
    aliased = []
    for term in mains.terms:
        if np.abs(null[:, mains.places[term]]).max() > NOTHING:
            partners = _partners(mains, null, term, mains.terms)
            changes = [levels for levels, _ in _directions(term)]
            hidden = [levels for levels in changes if (term, levels) not in shown]
            is_part = len(hidden) < len(changes)
            names = tuple(level for ((level, _),) in hidden) if is_part else ()
            aliased.append(Alias(term, partners, names))
    return tuple(aliased)


def interactions(mains: Model) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    """Return two-factor interactions beyond main effects: estimable, and aliased."""
    pairs: list[Term] = []
    for one, other in combinations([term[0] for term in mains.terms], 2):
        levels = [
            (one.level_of(system), other.level_of(system)) for system in mains.systems
        ]
        # Of the systems that state both: each needs several levels among them.
        met = [pair for pair in levels if all(pair)]
        if met and all(len(set(side)) > 1 for side in zip(*met, strict=True)):
            pairs.append((one, other))
    if not pairs:
        return (), ()

    both = Model.of([*mains.terms, *pairs], mains.systems)
    left = both.matrix - mains.matrix @ (inverse(mains.matrix) @ both.matrix)
    # What only rounding left would make vanished columns look independent.
    left[np.abs(left) < NOTHING] = 0.0
    null = _null_space(left)
    estimable, aliased = [], []
    for term in pairs:
        place = both.places[term]
        if np.abs(null[:, place]).max() < NOTHING:
            estimable.append(term)
            continue
        partners: tuple[Term, ...] = ()
        if left[:, place].any():
            partners = _partners(both, null, term, pairs)
        if not partners:
            alone = Model.of([*mains.terms, term], mains.systems)
            alone_null = _null_space(alone.matrix)
            partners = _partners(alone, alone_null, term, mains.terms)
        aliased.append(Alias(term, partners))
    # Only systems that do not state a parameter let interactions hide an effect.
    if all(place.start == place.stop for place in both.unstated.values()):
        return tuple(estimable), tuple(aliased)
    kept, given_up = _beside(mains, estimable)
    return kept, (*aliased, *given_up)


def _beside(
    mains: Model, estimable: Sequence[Term]
) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    """Keep the interactions that can be fitted without hiding an earlier effect."""
    kept, given_up = mains, []
    shown = {(effect.term, effect.levels) for effect in estimates(mains)}
    for term in estimable:
        trial = Model.of([*kept.terms, term], mains.systems)
        wanted = shown | {(term, levels) for levels, _ in _directions(term)}
        hidden = wanted - {(effect.term, effect.levels) for effect in estimates(trial)}
        if hidden:
            lost = {effect_term for effect_term, _ in hidden} - {term}
            partners = tuple(other for other in kept.terms if other in lost)
            given_up.append(Alias(term, partners))
        else:
            kept, shown = trial, wanted
    return kept.terms[len(mains.terms) :], tuple(given_up)


def _partners(
    model: Model, null: Floats, term: Term, others: Sequence[Term]
) -> tuple[Term, ...]:
    """Return the other terms that vanish together with a term."""
    is_coupled = np.abs(null[:, model.places[term]]).max(axis=1) > NOTHING
    return tuple(
        other
        for other in others
        if other != term
        for places in [(model.places[other], model.unstated[other])]
        if any(is_coupled[place].any() for place in places)
    )


def _null_space(matrix: Floats) -> Floats:
    """The projector onto the combinations of columns that vanish."""
    null: Floats = np.eye(matrix.shape[1]) - inverse(matrix) @ matrix
    return null


MOST_FACTORS: Final = 8
FEWEST: Final = 7
"""A design of 8 cells; 3 contrasts would have one degree of freedom."""
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Contrast:
    """A column of -1 and 1, and all terms with this or the negated column."""

    terms: tuple[Term, ...]
    column: tuple[float, ...]

    @property
    def simplest(self) -> tuple[Term, ...]:
        """The terms of lowest order: one if the contrast has one meaning."""
        order = len(self.terms[0])
        return tuple(term for term in self.terms if len(term) == order)


@dataclass(frozen=True, slots=True)
class Lenth:
    """Pseudo standard error and margins, in the unit of the contrasts."""

    contrasts: int
    pse: float
    me: float
    sme: float


def regular_contrasts(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Contrast, ...]:
    """All contrasts of a full or regular fractional two-level design, else none."""
    has_two_levels = all(len(factor.levels) == 2 for factor in factors)
    if not 0 < len(factors) <= MOST_FACTORS or not has_two_levels:
        return ()
    mains = {factor: factor.columns(systems)[:, 0] for factor in factors}
    # A 0 is a level that a system does not state: no such design is regular.
    if not all(column.all() for column in mains.values()):
        return ()
    aliases: dict[bytes, list[tuple[Term, Floats]]] = {}
    for order in range(1, len(factors) + 1):
        for term in combinations(factors, order):
            column = np.prod([mains[factor] for factor in term], axis=0)
            # A column and its negative are one contrast: here all begin with 1.
            turned = column * column[0]
            aliases.setdefault(turned.tobytes(), []).append((term, column))
    contrasts = [
        Contrast(tuple(term for term, _ in members), tuple(members[0][1]))
        for members in aliases.values()
        # A product that never changes is the mean's column, not a contrast.
        if np.ptp(members[0][1])
    ]
    # Contrasts and mean must take the responses apart completely: orthogonal, and as
    # many as there are systems.
    columns = [contrast.column for contrast in contrasts]
    matrix = np.array([np.ones(len(systems)), *columns])
    if len(matrix) != len(systems):
        return ()
    is_orthogonal = np.allclose(matrix @ matrix.T, len(systems) * np.eye(len(systems)))
    return tuple(contrasts) if is_orthogonal else ()


def lenth(contrasts: Floats) -> Lenth | None:
    """Judge contrasts of equal variance; None where they are too few or mostly 0."""
    sizes = np.abs(contrasts)
    m = len(sizes)
    if m < FEWEST:
        return None
    # Exactly at the limit is beyond it, on whichever side rounding put it.
    within = sizes[sizes < 2.5 * 1.5 * np.median(sizes) - ROUNDING]
    pse = 1.5 * float(np.median(within)) if len(within) else 0.0
    if pse < ROUNDING:
        return None
    together = (1 + CONFIDENCE ** (1 / m)) / 2
    return Lenth(
        contrasts=m,
        pse=pse,
        me=float(stdtrit(m / 3, (1 + CONFIDENCE) / 2)) * pse,
        sme=float(stdtrit(m / 3, together)) * pse,
    )


def half_normal(contrasts: Floats) -> Floats:
    """Where each contrast's size belongs on the half-normal axis (Daniel 1959).

    The i-th smallest of m stands at the quantile 0.5 + 0.5 (i - 0.5) / m.
    """
    m = len(contrasts)
    ranks = np.argsort(ascending(np.abs(contrasts)))
    quantiles: Floats = ndtri(0.5 + 0.5 * (ranks + 0.5) / m)
    return quantiles


def ascending(sizes: Floats) -> NDArray[np.intp]:
    """Return the order of sizes, smallest first.

    Sizes that are equal up to rounding keep their order.
    """
    order = np.argsort(sizes, kind="stable")
    is_larger = np.diff(sizes[order], prepend=-np.inf) > ROUNDING
    tiers = np.empty(len(sizes))
    tiers[order] = np.cumsum(is_larger)
    return np.argsort(tiers, kind="stable")
