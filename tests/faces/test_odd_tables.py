"""Odd tables: each is read as a person would read it, with what was guessed said, or refused with what to do."""

import codecs
import gzip
import pickle

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.tables.dataset import BadInput, load

HEADER = "u,v,y"
ROWS = [f"{i % 7},{i * i % 11 / 2},{'ab'[i % 2]}" for i in range(40)]
PLAIN = [(i % 7, i * i % 11 / 2) for i in range(40)]


def text(*lines, end="\n"):
    return end.join(lines) + end


def table(make, header=HEADER, rows=40):
    """A table of 40 rows; `make(i)` gives the fields before the target."""
    return text(header, *(f"{make(i)},{'ab'[i % 2]}" for i in range(rows)))


USUAL = text(HEADER, *ROWS)
WIDE = text(
    ",".join([*(f"c{j}" for j in range(10_000)), "y"]),
    *(",".join([*(str((i * j) % 13) for j in range(10_000)), "ab"[i % 2]]) for i in range(20)),
)

# what it is: the content, and what the refusal says
REFUSED = {
    "empty": ("", "is empty"),
    "nothing but spaces": (" \n\n \n", "is empty"),
    "header only": (HEADER, "it has a header and no rows"),
    "nothing but comments": ("# x,y\n# a\n", "it has a header and no rows"),
    "one class": (table(lambda i: f"{i},1").replace(",b\n", ",a\n"), "only one class: 'a'"),
    "no such target": (table(lambda i: f"{i},1", "u,v,z"), "no column is called 'y'; there are 'u', 'v', 'z'"),
    "target all missing": (table(lambda i: f"{i},1").replace(",a\n", ",\n").replace(",b\n", ",NA\n"), "in every row"),
    "too few fields": (text(HEADER, *ROWS, "1,a", "1"), "2 of 42 rows have too few fields: lines 42, 43"),
    "too many fields": (text(HEADER, *ROWS, "1,2,a,b"), "1 of 41 rows have too many fields: line 42"),
    "UTF-8 with a broken byte": (text("größe,ü,y", *ROWS).encode() + b"1,2,\xff\n", "line 42 holds byte 0xff"),
    "UTF-16 cut in the middle": (codecs.BOM_UTF16_LE + USUAL.encode("utf-16-le")[:-1], "damaged"),
    "NUL bytes": (USUAL.encode() + b"1,\0\0,a\n", "2 NUL bytes, the first in line 42"),
    "unclosed quote": (text(HEADER, *ROWS[:5], '1,"2,a', *ROWS), "line 7 has a quote that is not closed"),
    "unclosed quote at the end": (text(HEADER, *ROWS, '1,"2,a'), "line 42 has a quote that is not closed"),
    "quote inside a quoted value": (table(lambda i: f'"5" pipe",{i}'), "line 2 has a quote"),
    "infinite value": (text(HEADER, *ROWS, "inf,1,a"), "column 'u' holds infinity in line 42"),
    "infinite target": (text("u,v,y", *["1,2,0.5", "3,1,-inf"] * 20), "the target 'y' holds infinity"),
    "duplicate names": (table(lambda i: f"{i},1", "u,u,y"), "the header names 'u' more than once"),
    "one column": (text("y", *"ab" * 20), "has one column only"),
    "a title above the header": (text("Sales of the year", HEADER, *ROWS), "'Sales of the year', has one field"),
    "no header, target by name": (text(*ROWS), "'column_3' (the file has no header)"),
    "too few rows": (text(HEADER, *ROWS[:10]), "10 rows have a target; a study needs at least 20"),
    "a class for each row": (text(HEADER, *(f"1,{i},class {i}" for i in range(40))), "40 classes in 40 rows"),
    "a slip in the target": (
        text(HEADER, *(f"{i % 3},{i % 5},{i * 7 % 40 / 4}" for i in range(40)), "1,2,x"),
        "--column y=number",
    ),
    "constants only": (table(lambda i: "1,2"), "no column is left to learn from: left out, constant: 'u', 'v'"),
    "binary": (bytes(np.random.default_rng(0).integers(1, 32, 3000, dtype=np.uint8)), "not a table of text"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(100), "it is an image"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(100), "perhaps a spreadsheet; save the sheet as CSV"),
    "a pickle": (pickle.dumps({"u": [1, 2]}), "a pickle, which is never read"),
    "a broken gzip": (gzip.compress(USUAL.encode())[:40], "damaged gzip"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_studied_is_refused_and_the_message_says_why(tmp_path, content, message):
    path = tmp_path / "odd.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput) as refusal:
        load(path, "y")
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 600


# what it is: the content, the target, and what the notes say
PLAINLY_READ = {
    "as usual": (USUAL, "y", ""),
    "UTF-8 with a mark": (USUAL.encode("utf-8-sig"), "y", ""),
    "UTF-16 with a mark": (codecs.BOM_UTF16_LE + USUAL.encode("utf-16-le"), "y", "UTF-16-LE, by its byte order mark"),
    "UTF-16, big end first": (
        codecs.BOM_UTF16_BE + USUAL.encode("utf-16-be"),
        "y",
        "UTF-16-BE, by its byte order mark",
    ),
    "UTF-16 without a mark": (USUAL.encode("utf-16-le"), "y", "UTF-16-LE, by its zero bytes"),
    "UTF-32": (codecs.BOM_UTF32_LE + USUAL.encode("utf-32-le"), "y", "UTF-32-LE"),
    "gzip": (gzip.compress(USUAL.encode()), "y", ""),
    "no line feed at the end": (USUAL.rstrip(), "y", ""),
    "CR only": (text(HEADER, *ROWS, end="\r"), "y", "carriage return alone"),
    "CR and LF": (text(HEADER, *ROWS, end="\r\n"), "y", ""),
    "tabs": (USUAL.replace(",", "\t"), "y", "separated by tabs"),
    "vertical bars": (USUAL.replace(",", "|"), "y", "separated by vertical bars"),
    "semicolon and decimal comma": (USUAL.replace(",", ";").replace(".", ","), "y", "'v' holds numbers written like"),
    "quotes around everything": ('"' + USUAL.rstrip().replace(",", '","').replace("\n", '"\n"') + '"\n', "y", ""),
    "single quotes": ("'" + USUAL.rstrip().replace(",", "','").replace("\n", "'\n'") + "'\n", "y", "single quotes"),
    "spaces before quotes": (
        text(HEADER, *(r[:-1] + f' "{r[-1]}"' for r in ROWS)),
        "y",
        "between separators and quotes",
    ),
    "no header": (text(*ROWS), "column_3", "no header: line 1 looks like the lines below it"),
    "blank first lines": ("\n  \n\n" + USUAL, "y", "3 blank lines left out: lines 1, 2, 3"),
    "blank lines between": (
        USUAL.replace("\n", "\n\n"),
        "y",
        "41 blank lines left out: lines 2, 4, 6, 8, 10 and 36 more",
    ),
    "comments": ("# by hand\n# a, b, c\n" + USUAL + "# the end\n", "y", "2 comments left out: lines 1, 44"),
    "header as a comment": ("#" + USUAL, "y", ""),
    "trailing separator": (USUAL.replace("\n", ",\n"), "y", "column 4 has neither a name nor values"),
    "trailing separator below the header": (text(HEADER, *(r + "," for r in ROWS)), "y", "cut in 40 rows"),
    "empty fields too many": (text(HEADER, *ROWS[:-1], ROWS[-1] + ",,"), "y", "cut in 1 row: line 41"),
    "spaces around values": (USUAL.replace(",", " , "), "y", "spaces around 120 values of 'u', 'v', 'y' removed"),
    "separator in the first line": (
        "sep=;\n" + USUAL.replace(",", ";"),
        "y",
        "line 1 says that values are separated by ';'",
    ),
    "nameless column that counts rows": (
        text("," + HEADER, *(f"{i},{row}" for i, row in enumerate(ROWS))),
        "y",
        "the first column has no name and numbers the rows",
    ),
}


@pytest.mark.parametrize(("content", "target", "note"), PLAINLY_READ.values(), ids=PLAINLY_READ)
def test_however_it_is_written_the_same_table_is_read(tmp_path, content, target, note):
    path = tmp_path / "odd.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    data = load(path, target)
    assert data.X.rows() == PLAIN
    assert data.y.tolist() == [row[-1] for row in ROWS]
    assert note in " ".join(data.notes)
    assert data.notes or not note
    if target == "y":
        assert data.of_kind("number") == ["u", "v"]


# what it is: the content, what is expected of the first column, and what the notes or warnings say
FIRST_COLUMN = {
    "Latin-1 header": (
        table(lambda i: f"{i % 7},2.{i % 3}", "größe,v,y").encode("latin-1"),
        ("größe", "number", 7, 0),
        "not UTF-8 (line 1 holds byte 0xf6): read as Windows-1252, the superset of Latin-1",
    ),
    "letters of Windows": (
        table(lambda i: f"{'€„'[i % 2]},{i % 5}").encode("cp1252"),
        ("u", "category", 2, 0),
        "read as Windows-1252",
    ),
    "names with spaces": (
        table(lambda i: f"{i % 7},1.{i % 3}", "the first one , v,y"),
        ("the first one", "number", 7, 0),
        "",
    ),
    "NA and ?": (
        table(lambda i: f"{['NA', '?', '-', 'n/a', 'null', '', '1', '2'][i % 8]},{i % 5}"),
        ("u", "number", 2, 30),
        "'NA' taken as missing, 5 values of 'u': lines 2, 10, 18, 26, 34",
    ),
    "leading zeros": (table(lambda i: f"0{1000 + i % 9},{i % 5}"), ("u", "category", 9, 0), "kept as text: 'u'"),
    "digits that no float holds": (
        table(lambda i: f"{10**19 + i % 9},{i % 5}"),
        ("u", "category", 9, 0),
        "too many digits",
    ),
    "10,000 columns": (WIDE, ("c1", "number", 13, 0), "constant: 'c0', 'c13'"),
    "1,000 categories": (table(lambda i: f"level {i * 7 % 1000},{i % 5}", rows=3000), ("u", "category", 1000, 0), ""),
    "dates": (table(lambda i: f"2020-01-{i % 28 + 1:02d},{i % 5}"), ("u", "date", 28, 0), ""),
    "dates with a time and a zone": (table(lambda i: f"2020-01-01T0{i % 9}:00:00Z,{i % 5}"), ("u", "date", 9, 0), ""),
    "dates with points": (table(lambda i: f"{i % 28 + 1}.2.2020,{i % 5}"), ("u", "date", 28, 0), ""),
    "dates with a day above 12": (table(lambda i: f"{i % 28 + 1}/2/2020,{i % 5}"), ("u", "date", 28, 0), ""),
    "dates that can be read in two ways": (
        table(lambda i: f"{i % 12 + 1}/2/2020,{i % 5}"),
        ("u", "date", 12, 0),
        "read as %m/%d/%Y; they could also be %d/%m/%Y: --column u=date:%d/%m/%Y",
    ),
    "mixed types": (
        table(lambda i: f"{'12o' if i == 3 else i % 7},{i % 5}"),
        ("u", "category", 8, 0),
        "39 of 40 values are numbers, but not '12o': line 5; --column u=number",
    ),
    "quotes with newlines": (
        table(lambda i: f'"line {i % 3}\nthen, ""so""",{i % 5}'),
        ("u", "category", 3, 0),
        "",
    ),
    "quotes that mean inches": (
        table(lambda i: f'{i % 5}" pipe,{i % 3}'),
        ("u", "category", 5, 0),
        "ordinary characters",
    ),
    "thousands": (table(lambda i: f'"{i % 7 + 1},000.5",{i % 5}'), ("u", "number", 7, 0), "written like 1,234.5"),
    "thousands or decimals": (table(lambda i: f'"{i % 7 + 1},500",{i % 5}'), ("u", "number", 7, 0), "a guess"),
    "percent": (table(lambda i: f"{i % 7} %,{i % 5}"), ("u", "number", 7, 0), "the sign % left out"),
    "money": (table(lambda i: f'"$ {i % 7 + 1},250.00",{i % 5}'), ("u", "number", 7, 0), "the sign $ left out"),
    "yes and no": (table(lambda i: f"{('yes', 'No')[i // 2 % 2]},{i % 5}"), ("u", "boolean", 2, 0), ""),
    "true and false": (table(lambda i: f"{('TRUE', 'false', '')[i // 2 % 3]},{i % 5}"), ("u", "boolean", 2, 12), ""),
    "t and f": (table(lambda i: f"{'tf'[i // 2 % 2]},{i % 5}"), ("u", "boolean", 2, 0), ""),
    "0 and 1": (table(lambda i: f"{i // 2 % 2},{i % 5}"), ("u", "boolean", 2, 0), ""),
    "names of rows": (
        text(HEADER, *(f"row {i},{row}" for i, row in enumerate(ROWS))),
        ("column_1", "identifier", 40, 0),
        "the first field is taken for the name of the row",
    ),
    "sentences": (table(lambda i: f"the cat no. {i} sat there,{i % 5}"), ("u", "text", 40, 0), ""),
    "a value of 200,000 letters": (
        table(lambda i: f"{'x' * 200_000 if i == 0 else 'y'},{i}"),
        ("u", "category", 2, 0),
        "",
    ),
    "values that begin like comments": (
        text(*(f"#{'abc'[i % 3]},{i % 5},{'ab'[i % 2]}" for i in range(40))).replace("#a", "u,v,y\n#a", 1),
        ("u", "category", 3, 0),
        "",
    ),
    "header of numbers": (table(lambda i: f"{i % 7},{i % 5}", "2019,2020,y"), ("2019", "number", 7, 0), ""),
}


@pytest.mark.parametrize(("content", "column", "said"), FIRST_COLUMN.values(), ids=FIRST_COLUMN)
def test_columns_are_taken_for_what_they_are(tmp_path, content, column, said):
    path = tmp_path / "odd.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    data = load(path, "y")
    first = data.columns[0]
    assert (first.name, first.kind, first.distinct, first.missing) == column
    assert said in " ".join([*data.notes, *data.warnings])
    assert len(data.y) == len(data.X) == len(data.rows)


def test_thirty_kinds_of_odd_table_and_more_are_tried():
    assert len(REFUSED) + len(PLAINLY_READ) + len(FIRST_COLUMN) > 80


@pytest.mark.parametrize("kind", ["empty", "too many fields", "unclosed quote", "NUL bytes", "binary", "one class"])
def test_the_command_refuses_with_code_two_and_no_traceback(tmp_path, kind):
    content, message = REFUSED[kind]
    path = tmp_path / "odd.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    shown = CliRunner().invoke(app, ["study", str(path), "--target", "y", "--out", str(tmp_path / "out")])
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert "Traceback" not in shown.output
    assert isinstance(shown.exception, SystemExit)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is a folder; give a file in it"):
        load(tmp_path, "y")


def test_a_file_that_may_not_be_read_is_refused_with_the_reason(tmp_path, monkeypatch):
    """Root may read everything, so the refusal of the system is played."""
    (tmp_path / "odd.csv").write_text(USUAL)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(BadInput, match=r"cannot be read \(Permission denied\)"):
        load(tmp_path / "odd.csv", "y")


def test_what_a_file_is_shows_even_under_a_wrong_name(tmp_path):
    path = tmp_path / "odd.csv"
    pl.DataFrame({"u": range(30), "v": [0.5, 1.5] * 15, "y": ["a", "b"] * 15}).write_parquet(path)
    assert load(path, "y").columns[1].kind == "number"
    path.write_text(
        "@relation r\n@attribute u numeric\n@attribute y {a,b}\n@data\n"
        + "\n".join(f"{i % 5},{'ab'[i % 2]}" for i in range(40))
    )
    assert load(path, "y").of_kind("number") == ["u"]


@pytest.mark.parametrize("seed", range(5))
def test_damage_of_any_kind_is_read_or_refused(tmp_path, seed):
    """A few bytes changed, put in or taken out at random: BadInput is the only error there is."""
    rng = np.random.default_rng(seed)
    bits = [
        b",",
        b"\n",
        b'"',
        b"\r",
        b";",
        b"\xff",
        b"\xc3\xa4",
        b"#",
        b"inf",
        b"1e999",
        b"\0",
        b"\x0c",
        b"9" * 30,
        b"1/2/2020",
    ]
    for _ in range(20):
        content = bytearray(table(lambda i: f'{i % 7},"x, {i % 3}"').encode())
        for _ in range(rng.integers(1, 5)):
            place, cut = int(rng.integers(len(content))), int(rng.integers(0, 9))
            content[place : place + cut] = bits[rng.integers(len(bits))]
        path = tmp_path / "odd.csv"
        path.write_bytes(bytes(content))
        try:
            data = load(path, "y")
        except BadInput:
            continue
        assert len(data.y) == len(data.X) == len(data.rows)
