"""Its wire needs root: `make lab-short` has one. Whether anybody answers does not."""

import socket

import pytest

from lab import LabError
from lab.servers import check_answers


def test_a_peer_that_listens_is_asked_nothing():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        check_answers(*listening.getsockname())
        with listening.accept()[0] as asked:
            assert asked.recv(1) == b""


def test_a_peer_that_cannot_be_reached_is_said_with_what_to_look_at():
    with pytest.raises(LabError, match=r"127.0.0.1:9 cannot be reached.*ip link"):
        check_answers("127.0.0.1", 9)
