"""Visibility: public studies for everybody, private ones for members."""

import pytest
from django.contrib.auth.models import AnonymousUser

from api.kit.views import viewer_of
from benchmarks.labs import tokens
from benchmarks.models import Membership, Token
from benchmarks.viewer import ANYONE


class Asking:
    """The part of a request that `viewer_of` reads."""

    def __init__(self, auth=None, user=None):
        self.auth, self.user = auth, user or AnonymousUser()


def test_anonymous_users_see_public_data(db):
    assert viewer_of(Asking()) == ANYONE


@pytest.mark.parametrize(("can_read", "sees"), [(True, True), (False, False)])
def test_tokens_with_read_scope_see_their_lab(agent, can_read, sees):
    token, _ = tokens.issue_token(agent=agent, can_upload=True, can_read=can_read)

    assert viewer_of(Asking(token)).lab_ids == ({agent.lab_id} if sees else set())


def test_users_see_all_their_labs(person, lab, other_lab):
    assert viewer_of(Asking(user=person)).lab_ids == {lab.pk}

    Membership.objects.create(lab=other_lab, user=person, role="viewer")

    assert viewer_of(Asking(user=person)).lab_ids == {lab.pk, other_lab.pk}
    assert not Token.objects.exists()
