"""Read a request's body without trusting its length, its encoding or its contents."""

import zlib
from typing import IO, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest

from api.kit.errors import malformed, too_large
from benchmarks.errors import MalformedError, TooLargeError

CHUNK_BYTES = 64 * 1024
RATIO_COUNTS_FROM_BYTES = 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
# To zlib, 16 more than the largest window means: gzip's head and checksum.
GZIP_WINDOW = 16 + zlib.MAX_WBITS


class EncodingRefusedError(MalformedError):
    """A body in an encoding that is not unpacked."""

    status = 415


def open_body(request: HttpRequest) -> BinaryIO:
    """Return the stream behind a request, also when it was sent in chunks.

    Django reads as many bytes as Content-Length says, which is none for a chunked
    body; a server that ends the input itself says so in ``wsgi.input_terminated``.
    """
    environ = request.META
    if not environ.get("CONTENT_LENGTH") and environ.get("wsgi.input_terminated"):
        return cast(BinaryIO, environ["wsgi.input"])
    return cast(BinaryIO, request)  # Django's request reads like a file


def read_body(stream: IO[bytes], request: HttpRequest) -> bytes:
    """Return the unpacked body, or refuse it: too large, cut off, or not gzip."""
    text = request.META.get("CONTENT_LENGTH") or ""
    stated = None
    if text:
        if not (text.isascii() and text.isdigit()):
            raise malformed("Content-Length is not a whole number.")
        # Digits are counted first: Python refuses to read thousands of them.
        if len(text) > 18 or int(text) > settings.UPLOAD_LIMIT_BYTES:
            raise _limit_exceeded()
        stated = int(text)
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise EncodingRefusedError(
            "unsupported_encoding",
            "Only Content-Encoding: gzip is read here. "
            "Send the body plain or packed once with gzip.",
        )
    packed = _read_bounded(stream)
    if stated is not None and len(packed) < stated:
        raise malformed(
            f"The body ended after {len(packed):,} of the {stated:,} bytes that "
            "Content-Length promised. Send it again."
        )
    return unpack(packed) if "gzip" in encoding else packed


def unpack(packed: bytes) -> bytes:
    """Return what one gzip member holds, reading no further than the limits."""
    if not packed.startswith(GZIP_MAGIC):
        raise malformed(
            "The body is not gzip, though Content-Encoding says so. "
            "Pack it, or leave the header out."
        )
    reader = zlib.decompressobj(GZIP_WINDOW)
    try:
        # One byte above the limit shows that the body is too large.
        body = reader.decompress(packed, settings.UPLOAD_LIMIT_BYTES + 1)
    except zlib.error:
        raise malformed("The gzip body is damaged. Pack it again.") from None
    consumed = len(packed) - len(reader.unconsumed_tail)
    # A MiB is unpacked in any case: so little does no harm.
    if len(body) > max(settings.UPLOAD_LIMIT_RATIO * consumed, RATIO_COUNTS_FROM_BYTES):
        raise too_large(
            "The gzip body unpacks to more than "
            f"{settings.UPLOAD_LIMIT_RATIO} times its size. Send it plain."
        )
    if len(body) > settings.UPLOAD_LIMIT_BYTES:
        raise _limit_exceeded()
    if not reader.eof:
        raise malformed("The gzip body is cut off. Send all of it.")
    if reader.unused_data:
        raise malformed(
            "There is more after the end of the gzip body. Pack everything as one."
        )
    if body.startswith(GZIP_MAGIC):
        raise malformed("The unpacked body is gzip again. Pack it once.")
    return body


def _read_bounded(stream: IO[bytes]) -> bytes:
    limit = settings.UPLOAD_LIMIT_BYTES
    body = bytearray()
    try:
        # One byte more than is taken tells that there is more; no further is read.
        while chunk := stream.read(min(CHUNK_BYTES, limit + 1 - len(body))):
            body += chunk
            if len(body) > limit:
                raise _limit_exceeded()
    # Our own server hands over whole bodies; another one may read as it is asked.
    except OSError:
        raise malformed("The body broke off. Send it again.") from None
    return bytes(body)


def _limit_exceeded() -> TooLargeError:
    return too_large(
        f"A body may have {settings.UPLOAD_LIMIT_BYTES:,} bytes, also when unpacked. "
        "Split it into several uploads."
    )
