"""Least squares over any set of systems, and what such a set cannot tell.

An effect is a linear function g'b of the model's coefficients. It can be estimated if
and only if g lies in the row space of the model matrix X (Searle, Linear Models, 1971,
chapter 5); then g'b = g'X+ y whatever else is in the model, in any order of its terms.

A parameter that a system does not state is no average of its levels: nothing is known
of it. Such systems have a coefficient of their own, and what they measured tells
nothing of the parameter. The one exception are parameters that some systems cannot have
(PV drivers on Linux). Where the other factors settle which systems these are, the
difference is theirs: Linux is compared with the average Windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

import numpy as np

from benchmarks.analysis.factor_effects.factors import Array, Factor, Levels, Term

NOTHING: Final = 1e-8

LevelPairs = tuple[tuple[str, str], ...]
"""For each factor of a term: a level, and the level it is compared with."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A term that is not shown, for it cannot be told from its partners."""

    term: Term
    partners: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect that can be estimated: its value is weights'y."""

    term: Term
    levels: LevelPairs
    weights: Array


@dataclass(frozen=True)
class Model:
    """The mean and the terms of a design, as a matrix with one row a system.

    Behind the columns of the terms are those of the systems that do not state them:
    ``unstated`` names the term that each belongs to.
    """

    terms: tuple[Term, ...]
    systems: Sequence[Levels]
    matrix: Array
    unstated: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Sequence[Term], systems: Sequence[Levels]) -> Model:
        mean = np.ones((len(systems), 1))
        blocks = {term: columns(term, systems) for term in terms}
        mains = [term for term in terms if len(term) == 1]
        unstated: dict[Term, Array] = {}
        for term in terms:
            is_main = len(term) == 1
            known = [blocks[each] for each in (mains if is_main else terms)]
            known = [block for block in known if block is not blocks[term]]
            if not is_main:
                known += [unstated[each] for each in mains]
            unstated[term] = _beyond([mean, *known], unstated_columns(term, systems))
        return cls(
            tuple(terms),
            systems,
            np.hstack([mean, *blocks.values(), *unstated.values()]),
            tuple(term for term, block in unstated.items() for _ in block.T),
        )

    @property
    def error_df(self) -> int:
        """Systems that are left over when all terms are fitted."""
        return len(self.systems) - int(np.linalg.matrix_rank(self.matrix))

    def place(self, term: Term) -> slice:
        start = 1
        for each in self.terms:
            width = _width(each)
            if each == term:
                return slice(start, start + width)
            start += width
        raise KeyError(term)

    def places(self, term: Term) -> list[int]:
        """The columns of the term, and of the systems that do not state it."""
        own = self.place(term)
        behind = self.matrix.shape[1] - len(self.unstated)
        return [
            *range(own.start, own.stop),
            *(behind + at for at, each in enumerate(self.unstated) if each == term),
        ]


def columns(term: Term, systems: Sequence[Levels]) -> Array:
    """A term's columns: those of its factor, or all products of its two factors'.

    A row a system, a column a level beside the reference, or a pair of such levels.
    """
    first, *others = (factor.columns(systems) for factor in term)
    for other in others:
        first = np.einsum("ij,ik->ijk", first, other).reshape(len(systems), -1)
    return first


def unstated_columns(term: Term, systems: Sequence[Levels]) -> Array:
    """Columns of the systems that do not state all of a term's factors.

    One for a factor. For two: one for each level of the one where the other is not
    stated, and one where neither is.
    """
    missing = [
        np.array([[not factor.level_of(each)] for each in systems], dtype=np.float64)
        for factor in term
    ]
    if len(term) == 1:
        return missing[0]
    (one, other), (no_one, no_other) = (f.columns(systems) for f in term), missing
    return np.hstack([one * no_other, no_one * other, no_one * no_other])


def _beyond(known: Sequence[Array], wanted: Array) -> Array:
    """The wanted columns that are no combination of known ones."""
    wanted = wanted[:, wanted.any(axis=0)]
    if not wanted.size:
        return wanted
    matrix = np.hstack(known)
    left = wanted - matrix @ (inverse(matrix) @ wanted)
    return wanted[:, np.abs(left).max(axis=0) > NOTHING]


def inverse(matrix: Array) -> Array:
    """The pseudo-inverse X+; directions that only rounding made are none."""
    inverted = np.linalg.pinv(matrix, rcond=NOTHING)
    return inverted.astype(np.float64)


def estimates(model: Model) -> Iterator[Estimate]:
    """Every effect of the model's terms that its systems can tell.

    A main effect is the difference between a level and the reference; an interaction is
    half the difference of such differences, so that all contrasts of a balanced
    two-level design have one variance (Box, Hunter and Hunter's convention).
    """
    solver = inverse(model.matrix)
    for term in model.terms:
        for levels, direction in _directions(term):
            wanted = np.zeros(model.matrix.shape[1])
            wanted[model.place(term)] = direction
            weights = wanted @ solver
            if np.allclose(weights @ model.matrix, wanted, atol=NOTHING):
                yield Estimate(term, levels, weights)


def aliased_mains(model: Model) -> tuple[Alias, ...]:
    """Name the factors whose levels were never changed apart from other factors'."""
    null = _null_space(model.matrix)
    return tuple(
        Alias(term, _partners(model, null, term, model.terms))
        for term in model.terms
        if np.abs(null[:, model.place(term)]).max() > NOTHING
    )


def interactions(mains: Model) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    """Sort the two-factor interactions into those to be told and those aliased.

    Main effects come first: an interaction is what is left when they are taken out. One
    that vanishes with them is their alias; of those that are left, some may be aliases
    of each other.
    """
    terms = _possible_interactions(mains)
    if not terms:
        return (), ()
    both = Model.of([*mains.terms, *terms], mains.systems)
    left = both.matrix - mains.matrix @ (inverse(mains.matrix) @ both.matrix)
    left[np.abs(left) < NOTHING] = 0.0
    null = _null_space(left)
    told, aliased = [], []
    for term in terms:
        place = both.place(term)
        if np.abs(null[:, place]).max() < NOTHING:
            told.append(term)
            continue
        partners: tuple[Term, ...] = ()
        if np.abs(left[:, place]).max() > NOTHING:
            partners = _partners(both, null, term, terms)
        aliased.append(Alias(term, partners or _main_partners(mains, term)))
    if not both.unstated:
        return tuple(told), tuple(aliased)
    kept, given_up = _beside(mains, told)
    return kept, (*aliased, *given_up)


def _beside(
    mains: Model, told: Sequence[Term]
) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    """Keep the interactions that can be fitted without hiding an effect before them.

    They hide one where it is told by systems that do not state what interacts.
    """
    kept, given_up = mains, []
    shown = set(_shown(mains))
    for term in told:
        trial = Model.of([*kept.terms, term], mains.systems)
        wanted = shown | {(term, levels) for levels, _ in _directions(term)}
        hidden = wanted - set(_shown(trial))
        if not hidden:
            kept, shown = trial, wanted
            continue
        partners = {hidden_term for hidden_term, _ in hidden} - {term}
        in_order = tuple(each for each in kept.terms if each in partners)
        given_up.append(Alias(term, in_order))
    return kept.terms[len(mains.terms) :], tuple(given_up)


def _shown(model: Model) -> Iterator[tuple[Term, LevelPairs]]:
    return ((each.term, each.levels) for each in estimates(model))


def _main_partners(mains: Model, term: Term) -> tuple[Term, ...]:
    alone = Model.of([*mains.terms, term], mains.systems)
    return _partners(alone, _null_space(alone.matrix), term, mains.terms)


def _partners(
    model: Model, null: Array, term: Term, others: Sequence[Term]
) -> tuple[Term, ...]:
    """Those of the other terms that vanish together with the term."""
    together = np.abs(null[:, model.place(term)]).max(axis=1)
    return tuple(
        other
        for other in others
        if other != term and together[model.places(other)].max() > NOTHING
    )


def _possible_interactions(mains: Model) -> list[Term]:
    pairs = combinations((term[0] for term in mains.terms), 2)
    return [pair for pair in pairs if _vary_together(*pair, mains.systems)]


def _vary_together(one: Factor, other: Factor, systems: Sequence[Levels]) -> bool:
    """Whether both have several levels among the systems that state both."""
    levels = [(one.level_of(each), other.level_of(each)) for each in systems]
    stated = [pair for pair in levels if all(pair)]
    return all(len({pair[at] for pair in stated}) > 1 for at in (0, 1))


def _directions(term: Term) -> Iterator[tuple[LevelPairs, Array]]:
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
        scale = 0.5 ** (len(term) - 1)
        yield tuple(pair for pair, _ in chosen), direction * scale


def _null_space(matrix: Array) -> Array:
    """The projector onto the combinations of columns that vanish."""
    null: Array = np.eye(matrix.shape[1]) - inverse(matrix) @ matrix
    return null


def _width(term: Term) -> int:
    return math.prod(len(factor.levels) - 1 for factor in term)
