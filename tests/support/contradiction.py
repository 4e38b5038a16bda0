"""A document and a web page that contradict each other, and the question that both answer."""

from __future__ import annotations

from tests.support.search_servers import Reply, answer_reply

QUESTION = "What is the current hotel limit in London?"
PAGE = "The hotel limit in London is 195 euros per night. Breakfast is included in the limit."
RESULT = {
    "url": "http://example.org/limits",
    "title": "Travel limits",
    "content": "The hotel limit in London is 210 euros per night. It was raised in March.",
    "publishedDate": "2026-03-01T10:00:00",
}
BOTH_SIDES = "0.9999"
"""An upper threshold that no passage reaches: the documents alone are never enough."""


def reply() -> Reply:
    return answer_reply(results=[RESULT])
