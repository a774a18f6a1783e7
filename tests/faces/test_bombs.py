"""Files that unpack to far more than they are: refused by what they declare, and again by what comes."""

import gzip
import io
import struct
import zipfile

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.core.storage import memory_limits, model_files
from fivefold.study.models.model_file import describe_model
from fivefold.study.tables import text_encoding
from fivefold.study.tables.dataset import BadInput, load
from fivefold.study.tables.files import read_table


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def zeros(path, size, name="array.npy"):
    """An archive with one member of this many zeros."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for _ in range(size // 10**6):
            member.write(bytes(10**6))
    return path


def test_a_model_file_that_unpacks_to_far_more_than_it_is_is_refused(tmp_path, monkeypatch):
    path = zeros(tmp_path / "model.skops", 150 * 10**6)
    assert path.stat().st_size < 10**6
    for command in (("card", path), ("predict", path, "iris"), ("evaluate", path, "iris")):
        shown = run(*command)
        assert shown.exit_code == 2
        assert "unpack to 150 MB" in shown.stderr and memory_limits.UNPACKED_VARIABLE in shown.stderr
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "200MB")  # raised: it is unpacked, and found to be no model
    assert "holds no fivefold.json" in " ".join(run("card", path).stderr.split())
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "100MB")
    with pytest.raises(model_files.SuspectArchiveError, match="unpack to 150 MB"):
        model_files.check_archive(path)


def test_a_size_that_is_a_lie_does_not_help(tmp_path):
    """The directory declares a few bytes; no more than that are ever unpacked, and they do not fit their checksum."""
    path = zeros(tmp_path / "model.skops", 5 * 10**6)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", 100)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="damaged"):
        describe_model(path)


def test_members_that_share_bytes_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(3):
            archive.writestr(f"{i}.npy", bytes([i]) * 1000)
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\1\2")
    second = content.index(b"PK\1\2", first + 4)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]  # begin where the first one does
    path.write_bytes(content)
    with pytest.raises(model_files.SuspectArchiveError, match="overlap"):
        model_files.check_archive(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_members_packed_in_other_ways_are_refused(tmp_path, packing):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("schema.json", "{}" * 1000)
    shown = run("card", path)
    assert shown.exit_code == 2 and "not packed as model files are" in " ".join(shown.stderr.split())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("schema.json", "[]")
    with pytest.raises(model_files.SuspectArchiveError, match="the same name"):
        model_files.check_archive(path)


def test_a_gzip_is_unpacked_up_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 500_000))
    monkeypatch.setattr(text_encoding, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "1MB")
    with pytest.raises(BadInput, match=rf"unpacks to more than 1 MB.* {memory_limits.UNPACKED_VARIABLE}"):
        read_table(path)
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "3MB")
    assert read_table(path).frame.height == 500_000
    content = bytearray(path.read_bytes())
    content[-4:] = (100).to_bytes(4, "little")  # a lie about the size
    path.write_bytes(content)
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "1MB")
    with pytest.raises(BadInput, match="unpacks to more than 1 MB"):
        read_table(path)


def test_a_table_too_large_for_the_memory_that_is_free_is_refused(tmp_path, monkeypatch):
    text, packed = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    text.write_bytes(b"x,y\n" + b"1,2\n" * 50_000)
    packed.write_bytes(gzip.compress(text.read_bytes()))
    monkeypatch.setattr(text_encoding, "CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 300_000)
    for path in (text, packed):
        with pytest.raises(BadInput, match="of which 300 kB are free"):
            load(path, "y")
    monkeypatch.setattr(memory_limits, "free_memory", lambda: None)  # a system that does not say
    assert read_table(text).frame.height == read_table(packed).frame.height == 50_000


def test_parquet_of_many_equal_rows_is_refused_by_its_rows(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"x": np.zeros(2_000_000), "y": np.zeros(2_000_000)}).write_parquet(path)
    assert path.stat().st_size < 200_000
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 50 * 10**6)
    with pytest.raises(BadInput, match="of which 50 MB are free"):
        read_table(path)


def test_free_memory_is_a_number_of_bytes():
    assert memory_limits.free_memory() > 10**7


def test_a_limit_that_is_no_size_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv(memory_limits.UNPACKED_VARIABLE, "plenty")
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n"))
    shown = run("study", path, "--target", "y", "--out", tmp_path / "out")
    assert shown.exit_code == 2 and "a size such as 800MB or 4GB; got 'plenty'" in " ".join(shown.stderr.split())


def test_damaged_parquet_never_ends_in_a_panic(tmp_path):
    """polars ends in panics that are no Exceptions."""
    buffer = io.BytesIO()
    pl.DataFrame({"x": np.arange(300.0), "t": [f"text {i % 7}" for i in range(300)]}).write_parquet(buffer)
    content, rng = buffer.getvalue(), np.random.default_rng(0)
    for i in range(150):
        damaged = bytearray(content)
        damaged[rng.integers(4, len(content))] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"{i}.parquet"
        path.write_bytes(damaged)
        try:
            read_table(path)
        except BadInput as error:
            assert str(path) in str(error)
