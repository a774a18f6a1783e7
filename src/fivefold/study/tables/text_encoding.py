"""From the bytes of a file to UTF-8.

A byte order mark decides. Without one, UTF-16 is recognised by its zero bytes, and what is not UTF-8 is read as
Windows-1252, the superset of Latin-1 that most such files use. Other kinds of files are refused by name.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np

from fivefold.core.storage import memory_limits
from fivefold.study.formatting import format_count
from fivefold.study.tables.table import BadInput

HEAD_BYTES = 1 << 16  # bytes at the beginning of a file from which guesses are made
CHUNK_BYTES = 1 << 24  # bytes unpacked at a time
COPIES_IN_MEMORY = 3  # of a table while it is read: its bytes, its text, its values
MAX_GZIP_RATIO = 1032  # largest compression ratio that gzip can reach (bytes out per byte in)
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
BYTE_ORDER_MARKS = {  # the longer ones first: that of UTF-16 begins that of UTF-32
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
BINARY_MAGICS = {
    b"PK\x03\x04": "a zip archive, perhaps a spreadsheet; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document; save the sheet as CSV",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\x89HDF": "an HDF5 file; write its table as CSV or Parquet",
    b"\x93NUMPY": "a NumPy array; write it as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x7fELF": "a program",
    b"ARROW1": "an Arrow file; write it as Parquet",
    b"\x80\x02": "a pickle, which is never read",
    b"\x80\x03": "a pickle, which is never read",
    b"\x80\x04": "a pickle, which is never read",
    b"\x80\x05": "a pickle, which is never read",
}
CONTROL_BYTES = re.compile(rb"[\x01-\x08\x0e-\x19\x1b-\x1f]")
MAX_CONTROL_SHARE = 0.005  # a file with a larger share of control characters is not text


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, decompressed if it is a gzip; refused if they are too many for the free memory."""
    try:
        check_memory(path, path.stat().st_size)
        content = path.read_bytes()
        return _unpack_gzip(path, content) if content.startswith(GZIP_MAGIC) else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path} is a damaged gzip file ({error}); pack it again") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from None


def check_memory(path: Path, size: int) -> None:
    """Refuse a table of this many bytes if the free memory cannot hold it."""
    free = memory_limits.free_memory()
    if free is not None and COPIES_IN_MEMORY * size > free:
        raise BadInput(
            f"{path} has {memory_limits.format_size(size)}, and reading it takes about "
            f"{memory_limits.format_size(COPIES_IN_MEMORY * size)}, of "
            f"which {memory_limits.format_size(free)} are free; give fewer rows or columns, a Parquet file, which is "
            "read in chunks, or a machine with more memory"
        )


def _unpack_gzip(path: Path, content: bytes) -> bytes:
    """The contents of a gzip, up to the limit: checked first by the declared size, then while decompressing."""
    most = memory_limits.max_unpacked()
    parts, total = list[bytes](), int.from_bytes(content[-4:], "little")
    if total > MAX_GZIP_RATIO * len(content):  # impossible: the end of the file, which holds the size, is missing
        total = 0
    with gzip.GzipFile(fileobj=BytesIO(content)) as file:
        while total <= most:
            part = file.read(CHUNK_BYTES)
            if not part:
                return b"".join(parts)
            parts.append(part)
            total = sum(map(len, parts))
            check_memory(path, total)
    raise BadInput(
        f"{path} has {memory_limits.format_size(len(content))} and unpacks to more than "
        f"{memory_limits.format_size(most)}. If that is "
        f"meant, unpack it yourself, or set {memory_limits.UNPACKED_VARIABLE} to a size such as 8GB"
    )


def decode_to_utf8(path: Path, content: bytes) -> tuple[bytes, list[str]]:
    """The content in UTF-8 with lines that end in a line feed, and what was guessed."""
    for magic, what in BINARY_MAGICS.items():
        if content.startswith(magic):
            raise BadInput(f"{path} is not a table of text: it is {what}")
    text, notes = _transcode(path, content)
    if not text.strip():
        raise BadInput(f"{path} is empty")
    if (where := text.find(b"\0")) >= 0:
        raise BadInput(
            f"{path} is damaged or not text: {format_count(text.count(0), 'NUL byte')}, the first in line "
            f"{_line_number(text, where)}; write it again or remove them"
        )
    if len(CONTROL_BYTES.findall(text[:HEAD_BYTES])) > MAX_CONTROL_SHARE * len(text[:HEAD_BYTES]):
        raise BadInput(f"{path} is not a table of text: it is full of control characters, as binary files are")
    if b"\r" in text and b"\n" not in text:
        notes.append("lines end in a carriage return alone, as on old Macs")
        text = text.replace(b"\r", b"\n")
    return text, notes


def _transcode(path: Path, content: bytes) -> tuple[bytes, list[str]]:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return _decode(path, content[len(mark) :], encoding), _encoding_note(encoding, "by its byte order mark")
    if wide := _find_utf16(content):
        return _decode(path, content, wide), _encoding_note(wide, "by its zero bytes")
    if content.isascii():
        return content, []
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return _decode_western(path, content, error)
    return content, []


def _find_utf16(content: bytes) -> str | None:
    """UTF-16 without a byte order mark: every second byte of Western text is zero."""
    head = np.frombuffer(content[: len(content[:HEAD_BYTES]) // 2 * 2], np.uint8).reshape(-1, 2) == 0
    even, odd = head.mean(axis=0) if len(head) else (0.0, 0.0)
    if max(even, odd) < 0.4 or min(even, odd) > 0.1:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _decode(path: Path, content: bytes, encoding: str) -> bytes:
    try:
        return content if encoding == "utf-8" and content.isascii() else content.decode(encoding).encode()
    except UnicodeError as error:
        raise BadInput(f"{path} begins as {encoding.upper()} but is damaged ({error}); write it again") from None


def _decode_western(path: Path, content: bytes, error: UnicodeDecodeError) -> tuple[bytes, list[str]]:
    """Windows-1252 or Latin-1, unless most characters beyond ASCII are valid UTF-8."""
    here = f"line {_line_number(content, error.start)} holds byte {content[error.start]:#04x}"
    text = content.decode(errors="replace")
    wrong = text.count("\ufffd")
    good = sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", text)))
    if good > wrong:
        raise BadInput(
            f"{path} is UTF-8 with damage: {here}, and {format_count(wrong, 'such place')} in all, among {good:,} "
            "valid letters beyond ASCII; correct it"
        )
    try:
        text, encoding = content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, encoding = content.decode("latin-1"), "Latin-1"
    said = "" if encoding == "Latin-1" else ", the superset of Latin-1"
    return text.encode(), [f"not UTF-8 ({here}): read as {encoding}{said}"]


def _encoding_note(encoding: str, why: str) -> list[str]:
    return [] if encoding == "utf-8" else [f"read as {encoding.upper()}, {why}"]


def _line_number(content: bytes, position: int) -> int:
    end = b"\n" if b"\n" in content else b"\r"
    return content.count(end, 0, position) + 1
