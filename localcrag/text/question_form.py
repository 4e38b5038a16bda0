"""The form of a question: a way to do something, a list, yes or no, or a comparison.

Knows English only; a question in another form, or of another language, is of none of these.
"""

from __future__ import annotations

import re

_AUXILIARY = r"(?:do|does|did|can|could|should|shall|would|will|must|may|to|is|are|am|was|were|have|has|had|would)"
_HOW = re.compile(
    rf"\bhow (?:(?:else|exactly|best) )?{_AUXILIARY}\b|\bhow['’]s\b"
    rf"|\bwhat (?:all )?(?:do|does|should|must|can|would|shall|will) (?:\w+ ){{1,3}}?(?:(?:need|have) to )?(?:do|try)\b"
    r"|\bwhat (?:all )?(?:(?:has|have|needs?|is) to|must|should) be done\b"
    r"|\b(?:what|which) (?:\w+ ){0,3}?(?:steps?|procedures?|process|order|way)\b"
    r"|\b(?:steps?|procedure|process|instructions?|way) (?:for|to|of|when|if|in|after|before)\b"
    r"|\b(?:walk|take|guide|talk) me through\b|\bstep by step\b|^\W*(?:steps|procedure|instructions)\b",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(
    r"\bhow (?:much|many|few|long|often|old|far|big|large|high|tall|wide|deep|heavy|fast|late|early|soon|hot|warm"
    r"|cold)\b",
    re.IGNORECASE,
)
_PLURAL = r"(?!(?:does|is|was|has|this|its|yes|happens|counts|costs|means|applies)\b)\w{2,}[^\Ws]s"
_LIST = re.compile(
    rf"\b(?:which|what)(?: \w+){{0,2}}? {_PLURAL} {_AUXILIARY}\b|\bwhat (?:all )?(?:are|were)\b"
    r"|\b(?:which|what) of (?:the|these|those|our|my|your)\b|\b(?:who|which|what) all\b"
    r"|\b(?:list|name|enumerate) (?:all|every|the|of)\b|^\W*(?:list|all|every)\b"
    r"|\bwhat (?:do|does|must|should|can|may) (?:\w+ ){1,3}?(?:need|bring|include|require|contain|cover|pack)\b",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    r"(?:^|[.!?]\s|^(?![^.!?]*\b(?:wh(?:at|ich|o|om|ose|en|ere|y)|how)\b)[^.!?]*(?:[,;:]|\s[-–—])\s)"
    r"\W*(?:(?:and|but|so|or) )?(?:is|are|am|was|were|do|does|did|can|could|may|might|must|should|shall|will|would|has"
    r"|have|had|isn['’]t|aren['’]t|doesn['’]t|don['’]t|can['’]t|won['’]t)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^\W*(?:and |but |so )?(?:can|could|would|will) you (?:please )?"
    r"(?=(?:tell|explain|list|name|show|describe|give|say)\b)",
    re.IGNORECASE,
)
"""A request that is put as a question."""
_COMPARES = re.compile(
    r"\b(?:compared? (?:to|with)|versus|vs\.?|difference between|differences? (?:of|in|from)|differs?|better|worse"
    r"|(?:more|less|cheaper|dearer|longer|shorter|higher|lower|larger|smaller|faster|slower|older|newer"
    r"|(?!(?:oth|rath)er\b)\w+er) than"
    r"|which (?:\w+ )?(?:one|of (?:the )?(?:two|three|four))|which (?:\w+ ){0,3}?is (?:the )?\w+(?:er|est)\b"
    r"|the (?:most|least|cheapest|dearest|longest|shortest|highest|lowest))\b",
    re.IGNORECASE,
)


def asks_how(question: str) -> bool:
    """Whether a question asks for a way to do something, and not how much, how many or how long."""
    return _HOW.search(_HOW_MUCH.sub(" ", question)) is not None


def asks_for_list(question: str) -> bool:
    """Whether a question asks for several things: which documents, what the conditions are."""
    return _LIST.search(question) is not None


def asks_yes_or_no(question: str) -> bool:
    """Whether a question can be answered with yes or no."""
    return _YES_OR_NO.search(_POLITE.sub("", question)) is not None


def leaves_to_be_judged(question: str) -> bool:
    """Whether the answer is to be concluded from what the sources say: yes or no, or what a comparison comes to."""
    return asks_yes_or_no(question) or _COMPARES.search(_POLITE.sub("", question)) is not None
