"""Least squares over any set of systems, and what such a set cannot tell.

An effect is a linear function g'b of the model's coefficients. It can be estimated if
and only if g lies in the row space of the model matrix X (Searle, Linear Models, 1971,
chapter 5); then g'b = g'X+ y whatever else is in the model, in any order of its terms.
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
    """The mean and the terms of a design, as a matrix with one row a system."""

    terms: tuple[Term, ...]
    systems: Sequence[Levels]
    matrix: Array

    @classmethod
    def of(cls, terms: Sequence[Term], systems: Sequence[Levels]) -> Model:
        blocks = [np.ones((len(systems), 1))]
        blocks += [columns(term, systems) for term in terms]
        return cls(tuple(terms), systems, np.hstack(blocks))

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


def columns(term: Term, systems: Sequence[Levels]) -> Array:
    """A term's columns: those of its factor, or all products of its two factors'.

    A row a system, a column a level beside the reference, or a pair of such levels.
    """
    first, *others = (factor.columns(systems) for factor in term)
    for other in others:
        first = np.einsum("ij,ik->ijk", first, other).reshape(len(systems), -1)
    return first


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
    found = []
    null = _null_space(model.matrix)
    for term in model.terms:
        partners = [
            other
            for other in model.terms
            if np.abs(null[model.place(other), model.place(term)]).max() > NOTHING
        ]
        if partners:
            found.append(Alias(term, tuple(each for each in partners if each != term)))
    return tuple(found)


def interactions(mains: Model) -> tuple[tuple[Term, ...], tuple[Alias, ...]]:
    """Sort the two-factor interactions into those to be told and those aliased.

    Main effects come first: an interaction is what is left when they are taken out. One
    that vanishes with them is their alias; of those that are left, some may be aliases
    of each other.
    """
    terms = _possible_interactions(mains)
    if not terms:
        return (), ()
    both = Model.of(terms, mains.systems)
    wanted = both.matrix[:, 1:]
    by_mains = inverse(mains.matrix) @ wanted
    left = wanted - mains.matrix @ by_mains
    left[np.abs(left) < NOTHING] = 0.0
    null = _null_space(left)
    told, aliased = [], []
    for term in terms:
        place = _without_mean(both.place(term))
        if np.abs(null[:, place]).max() < NOTHING:
            told.append(term)
        elif np.abs(left[:, place]).max() < NOTHING:
            aliased.append(Alias(term, _main_partners(mains, by_mains[:, place])))
        else:
            others = [each for each in terms if each != term]
            rows = {each: _without_mean(both.place(each)) for each in others}
            partners = [
                each
                for each in others
                if np.abs(null[rows[each], place]).max() > NOTHING
            ]
            aliased.append(Alias(term, tuple(partners)))
    return tuple(told), tuple(aliased)


def _possible_interactions(mains: Model) -> list[Term]:
    pairs = combinations((term[0] for term in mains.terms), 2)
    return [pair for pair in pairs if _vary_together(*pair, mains.systems)]


def _vary_together(one: Factor, other: Factor, systems: Sequence[Levels]) -> bool:
    """Whether both have several levels among the systems that state both."""
    levels = [(one.level_of(each), other.level_of(each)) for each in systems]
    stated = [pair for pair in levels if all(pair)]
    return all(len({pair[at] for pair in stated}) > 1 for at in (0, 1))


def _main_partners(mains: Model, coefficients: Array) -> tuple[Term, ...]:
    return tuple(
        term
        for term in mains.terms
        if np.abs(coefficients[mains.place(term)]).max() > NOTHING
    )


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


def _without_mean(place: slice) -> slice:
    return slice(place.start - 1, place.stop - 1)
