"""Numbers that a client with doubles rounds: put back where the client did not change them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yai_nexus_agentkit.protocol.json.json_numbers import unrounded

BIG, ROUNDED = 1234567890123456789, 1234567890123456800
"""And what JavaScript writes for it."""

CASES: dict[str, tuple[Any, Any, Any]] = {
    # sent, what came back, and what is meant
    "untouched": (BIG, ROUNDED, BIG),
    "negative": (-BIG, -ROUNDED, -BIG),
    "the double in full": (BIG, 1234567890123456768, BIG),
    "exact": (BIG, BIG, BIG),
    "changed by a client that knows large numbers": (BIG, BIG + 1, BIG + 1),
    "changed": (BIG, 5, 5),
    "small": (7, 8, 8),
    "the first that is rounded": (2**53 + 1, 2**53, 2**53 + 1),
    "with an exponent": (10**21 + 1, 1e21, 10**21 + 1),
    "a double in other digits": (12345678901234567890.0, 12345678901234567000, 12345678901234567890.0),
    "beyond doubles": ([10**400, None], [None, None], [10**400, None]),
    "true is no number": ([BIG, 1], [ROUNDED, True], [BIG, True]),
    "text is no number": ([BIG, "x"], [str(ROUNDED), "x"], [str(ROUNDED), "x"]),
    "member": ({"id": BIG, "n": 1}, {"id": ROUNDED, "n": 2}, {"id": BIG, "n": 2}),
    "list in another order": ([BIG, 5, -BIG], [5, -ROUNDED, ROUNDED], [5, -BIG, BIG]),
    "somewhere else": ({"args": {"id": BIG}}, {"editedArgs": {"id": ROUNDED}}, {"editedArgs": {"id": BIG}}),
    "two alike, in their places": ([BIG, BIG + 1], [ROUNDED, ROUNDED], [BIG, BIG + 1]),
    "two alike, moved": ([BIG, BIG + 1], [1, 2, ROUNDED], [1, 2, ROUNDED]),
    "nothing large was sent": ({"id": 1}, {"id": ROUNDED}, {"id": ROUNDED}),
}


@pytest.mark.parametrize(("sent", "back", "meant"), CASES.values(), ids=CASES.keys())
def test_what_came_back(sent: Any, back: Any, meant: Any) -> None:
    found = unrounded(sent, back)
    assert found == meant
    assert json.dumps(found) == json.dumps(meant)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=3), inside, max_size=4),
)


def through_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: through_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [through_doubles(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        double = float(value)
        return json.loads(repr(double)) if abs(double) >= 1e21 or double % 1 else _digits(double)
    return value


def _digits(double: float) -> int:
    """A whole number as JavaScript writes it: the shortest digits, then zeros."""
    digits, _, exponent = f"{double:.16e}".partition("e")
    for precision in range(17):
        digits, _, exponent = f"{double:.{precision}e}".partition("e")
        if float(f"{digits}e{exponent}") == double:
            break
    whole = digits.replace(".", "")
    return int(whole) * 10 ** (int(exponent) - precision)


@given(json_data)
def test_what_a_browser_sends_back_untouched_is_no_change(sent: Any) -> None:
    assert unrounded(sent, through_doubles(sent)) == sent
