"""Reading bodies with limits on size, ratio and time, whatever the headers say."""

import gzip
import io
import time
import zlib

import pytest
from django.test import RequestFactory

from api.kit.body_limits import (
    UnsupportedEncodingError,
    decompress,
    open_body,
    read_body,
)
from benchmarks.errors import MalformedError, TooLargeError

LIMIT = 8 * 1024 * 1024


def request(raw=b"", **environ):
    return RequestFactory().post("/", raw, content_type="application/json", **environ)


def read(raw=b"", **environ):
    made = request(raw, **environ)
    return read_body(open_body(made), made)


def zeros(size):
    """Return gzipped zeros, created without storing them."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = b"\0" * (1024 * 1024)
    parts = [packer.compress(block) for _ in range(size // len(block))]
    return b"".join(parts) + packer.flush()


def test_plain_bodies_are_read():
    assert read(b'{"a":1}') == b'{"a":1}'


def test_gzipped_bodies_are_read():
    raw = b'{"a":1}' * 10_000

    assert read(gzip.compress(raw), HTTP_CONTENT_ENCODING="gzip") == raw


def test_gzipped_bodies_may_reach_the_limit(settings):
    settings.UPLOAD_LIMIT_RATIO = 2000

    assert len(read(zeros(LIMIT), HTTP_CONTENT_ENCODING="gzip")) == LIMIT


def test_chunked_bodies_are_read():
    made = request()
    made.META.pop("CONTENT_LENGTH", None)
    made.META |= {"wsgi.input": io.BytesIO(b"{}"), "wsgi.input_terminated": True}

    assert read_body(open_body(made), made) == b"{}"


def test_chunked_bodies_are_read_up_to_the_limit():
    made = request()
    made.META.pop("CONTENT_LENGTH", None)
    endless = io.BytesIO(b"x" * (LIMIT * 2))
    made.META |= {"wsgi.input": endless, "wsgi.input_terminated": True}

    with pytest.raises(TooLargeError):
        read_body(open_body(made), made)

    assert endless.tell() <= LIMIT + 1


def test_declared_oversized_bodies_are_not_read():
    made = request()
    untouched = io.BytesIO(b"x" * 100)
    made.META |= {"CONTENT_LENGTH": str(LIMIT + 1), "wsgi.input": untouched}

    with pytest.raises(TooLargeError, match="8,388,608 bytes"):
        read_body(untouched, made)

    assert untouched.tell() == 0


@pytest.mark.parametrize("stated", ["-5", "12abc", "١٢", "1e3", "9" * 400])
def test_invalid_content_lengths_are_rejected(stated):
    made = request(b"{}")
    made.META["CONTENT_LENGTH"] = stated

    with pytest.raises((MalformedError, TooLargeError)):
        read_body(io.BytesIO(b"{}"), made)


def test_interrupted_bodies_are_rejected():
    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise ConnectionResetError

    with pytest.raises(MalformedError, match="Send it again"):
        read_body(Broken(), request(b"{}"))


def test_bodies_shorter_than_content_length_are_rejected():
    made = request(b"{}")
    made.META["CONTENT_LENGTH"] = "100"

    with pytest.raises(MalformedError, match="2 of the 100 bytes"):
        read_body(io.BytesIO(b"{}"), made)


def test_a_gigabyte_of_zeros_is_rejected():
    bomb = zeros(1024**3)
    began = time.process_time()

    with pytest.raises(TooLargeError, match="100 times its size"):
        read(bomb, HTTP_CONTENT_ENCODING="gzip")

    assert len(bomb) < LIMIT
    assert time.process_time() - began < 1


def test_bodies_above_the_limit_when_decompressed_are_rejected():
    noise = b"".join(zlib.crc32(b"%d" % i).to_bytes(4, "big") for i in range(50_000))
    raw = b"".join(noise[: 100_000 + i] for i in range(90))

    with pytest.raises(TooLargeError, match="8,388,608 bytes"):
        read(gzip.compress(raw), HTTP_CONTENT_ENCODING="gzip")


def packed(raw):
    """Compress without the current time, because the bytes are part of test names."""
    return gzip.compress(raw, mtime=0)


@pytest.mark.parametrize(
    ("packed", "says"),
    [
        (b"{}", "not gzip"),
        (b"", "not gzip"),
        (packed(b"{}")[:-4], "truncated"),
        (packed(b"{}" * 50_000)[:-9], "truncated"),
        (packed(b"{}") + b"more", "followed by more data"),
        (packed(b"{}") + packed(b"{}"), "followed by more data"),
        (packed(packed(b"{}")), "compressed twice"),
        (packed(b"{}" * 50)[:12] + b"\xff" * 50, "damaged|truncated"),
        (packed(b"{}")[:-8] + b"\0" * 8, "damaged"),
    ],
)
def test_invalid_gzip_is_rejected(packed, says):
    with pytest.raises(MalformedError, match=says):
        decompress(packed)


@pytest.mark.parametrize(
    "encoding", ["br", "deflate", "zstd", "gzip, gzip", "gzip;q=1", "compress"]
)
def test_other_encodings_are_rejected(encoding):
    with pytest.raises(UnsupportedEncodingError, match="gzip"):
        read(b"{}", HTTP_CONTENT_ENCODING=encoding)
