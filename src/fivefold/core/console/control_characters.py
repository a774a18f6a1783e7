"""Users' text made safe to show: names and labels cannot move the cursor, change colours or reverse a line.

Control characters become their pictures (ESC is ␛), so that they are visible and do nothing; those without a picture
become the replacement character. Line feeds and tabs stay. In JSON they become escapes, which read back unchanged.
"""

from __future__ import annotations

from itertools import chain

DELETE_CODE = 0x7F
CONTROL_PICTURES = {**{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}, DELETE_CODE: 0x2421}
UNPICTURED_CODES = (
    *range(0x80, 0xA0),  # the second set of control characters
    *(0x200E, 0x200F, 0x061C),  # marks of direction
    *range(0x2028, 0x202F),  # separators of lines and paragraphs, embeddings and overrides of direction
    *range(0x2066, 0x206A),  # isolates of direction
    0xFEFF,
)
DISPLAY_TABLE = {**CONTROL_PICTURES, **dict.fromkeys(UNPICTURED_CODES, 0xFFFD)}
# JSON itself escapes the codes below a space
JSON_ESCAPES = {code: f"\\u{code:04x}" for code in chain([DELETE_CODE], UNPICTURED_CODES)}


def printable(text: str) -> str:
    """The text with nothing in it that a terminal obeys.

    Examples
    --------
    >>> printable("red\\x1b[31m"), printable("a\\tb\\n")
    ('red␛[31m', 'a\\tb\\n')
    """
    return text.translate(DISPLAY_TABLE)


def printable_json(text: str) -> str:
    """JSON with the same values, in which nothing is left that a terminal obeys.

    Examples
    --------
    >>> printable_json('["\\x9b31m"]')
    '["\\\\u009b31m"]'
    """
    return text.translate(JSON_ESCAPES)
