"""Plausibility flags: what in a study cannot be, or hardly can (method, section 8).

``rules.check(study)`` runs every rule, ``rules.RULES`` describes them. A flag
never changes a number: it carries its evidence, and a person decides about it.
"""
