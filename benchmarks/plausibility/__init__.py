"""Plausibility flags: what in a study cannot be, or hardly can (method, section 8).

``checking.check(study)`` runs every rule, ``checking.RULES`` describes them. A flag
never changes a number: it carries its evidence, and a person decides about it.
"""
