"""Which web addresses of an answer stay."""

from __future__ import annotations

import pytest

from localcrag.crag.answer.verify import LEFT_OUT, remove_unknown_addresses
from localcrag.records.passages import Evidence

EVIDENCE = [
    Evidence(1, "The form is at https://hr.example/form. Ask [the desk](http://desk.example/a).", "p1", "s1", 0.9),
    Evidence(2, "It is ![blue](https://tracker.example/x.png?q=1).", "p2", "s1", 0.9),
]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("See https://hr.example/form.", "See https://hr.example/form."),
        ("See [the desk](http://desk.example/a) [1].", "See the desk (http://desk.example/a) [1]."),
        ("See https://hr.example/form?q=secret [1].", f"See {LEFT_OUT} [1]."),
        ("See http://evil.example/x!", f"See {LEFT_OUT}!"),
        ("See www.evil.example and //evil.example/x", f"See {LEFT_OUT} and {LEFT_OUT}"),
        ("It is ![blue](https://tracker.example/x.png?q=1) [2].", "It is blue [2]."),
        ("It is https://tracker.example/x.png?q=1 [2].", f"It is {LEFT_OUT} [2]."),
        ("See **https://hr.example/form**.", "See **https://hr.example/form**."),
        ("See `https://hr.example/form`…", "See `https://hr.example/form`…"),
        ("See **https://evil.example/x**.", f"See **{LEFT_OUT}**."),
        ("- one [1]\n- two [2]", "- one [1]\n- two [2]"),
        ("Paid by 10/11 and/or at 1:2.", "Paid by 10/11 and/or at 1:2."),
    ],
)
def test_only_addresses_that_the_evidence_shows_stay(answer: str, shown: str) -> None:
    assert remove_unknown_addresses(answer, EVIDENCE) == shown
