"""The form of a question: procedure, list, everything, summary, yes or no, or comparison.

Only English questions are recognised; a question in another language has none of these forms.
"""

from __future__ import annotations

import re

from localcrag.text.words import split_words

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
"""A request phrased as a question: "Can you tell me …"."""
_COMPARES = re.compile(
    r"\b(?:compared? (?:to|with)|versus|vs\.?|difference between|differences? (?:of|in|from)|differs?|better|worse"
    r"|(?:more|less|cheaper|dearer|longer|shorter|higher|lower|larger|smaller|faster|slower|older|newer"
    r"|(?!(?:oth|rath)er\b)\w+er) than"
    r"|which (?:\w+ )?(?:one|of (?:the )?(?:two|three|four))|which (?:\w+ ){0,3}?is (?:the )?\w+(?:er|est)\b"
    r"|the (?:most|least|cheapest|dearest|longest|shortest|highest|lowest))\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:list|name|enumerate|find|show|give|collect|gather|extract)(?: \w+){0,2} (?:all|every|each)\b"
    r"|\b(?:who|which|what) all\b|\b(?:what|which)(?: \w+){0,2} all the\b|\bwhat are all\b|^\W*(?:all|every|each)\b"
    r"|\b(?:every|each)(?: single)? (?:time|place|passage|mention|occurrence|one of)\b|\beverything (?:about|on|that)\b"
    r"|\ball (?:the )?(?:places|passages|mentions|occurrences|times)\b|\bcomplete list\b|^\W*(?:list|enumerate)\b"
    r"|\b(?:how many|what number of|the number of)\b|^\W*count\b|\b(?:summari[sz]e|sum up|overview|summary)\b",
    re.IGNORECASE,
)
_POLITE_REQUEST = re.compile(
    r"^\W*(?:(?:can|could|would|will) you |please |i (?:need|want|would like) (?:you )?(?:to )?|tell me )+",
    re.IGNORECASE,
)
_ASKS_FOR_ALL = re.compile(
    r"^\W*(?:(?:list|name|enumerate|find|show|give|collect|gather|extract|count|summari[sz]e|sum up)\b(?: me| us)?"
    r"(?: (?:a |the )?(?:complete |full )?(?:list|overview|summary) (?:of|with))?(?: (?:all|every|each)(?: single)?)?"
    r"(?: (?:places?|passages?|mentions?|occurrences?)(?: (?:of|where|that|which|about|in which))*(?: mentions?)?)?"
    r"|(?:an? |the )?(?:complete |full )*(?:list|overview|summary) (?:of|with)(?: all)?"
    r"|(?:how many|what number of)(?: different)?|what (?:is|are) the number of|(?:what|which) (?:are )?all(?: the)?"
    r"|who all|(?:all|every|each|everything about|everything on)(?: mentions? of)?)\b ?",
    re.IGNORECASE,
)
_PLACES = re.compile(
    r"(?: (?:are|is|were|was|do|does|did)(?: there| (?:i|we|they) have)?)?"
    r"(?: (?:listed|named|mentioned|given|found|there))?"
    r"(?: (?:in|within|across|of|from) "
    r"(?:(?:all|any|each|every|the|these|those|this|that|my|our)(?: of (?:the|my|our))? )+"
    r"(?:documents?|files?|texts?|collection|pages?|mails?|letters?))?\W*$",
    re.IGNORECASE,
)
"""The end of a question that names the whole collection ("in all my documents") and so adds nothing to the topic."""
_SUMMARY = re.compile(
    r"^\W*(?:(?:can|could|would|will) you |please |i (?:need|want|would like) |let me have |now )*"
    r"(?:(?:summari[sz]e|sum up|outline)\b|(?:(?:give|write|make|show|tell) (?:me |us )?)?(?:an? |the )?"
    r"(?:(?:short|brief|quick|concise|rough|general) )*(?:summary|overview|outline|gist|tl;?dr)\b"
    r"(?: (?:of|on|over|for))?"
    r"|what(?:['’]s| is| are| was| were)? (?P<about>.*?)\b(?:all )?about\W*$"
    r"|what (?:does|do) (?P<says>.*?)\b(?:say|contain|cover)(?: (?:in short|in brief|overall|altogether))?\W*$"
    r"|what (?:is|stands) in\b"
    r"|(?:what (?:is|are) |give me |list |tell me )?the (?:main|key|most important|essential|central) "
    r"(?:points?|ideas?|facts?|messages?|statements?|content)\b(?: (?:of|in|from))?)",
    re.IGNORECASE,
)
_NUMBER_ASKED = re.compile(
    r"\b(?:how (?:many|much|long|old|high|often|far|big|large|tall|late|early|soon|wide|deep|heavy|fast)|when|"
    r"(?:what|which) (?:date|day|time|year|month|percentage|share|price|fee|cost|amount|number|age|size|version|line|"
    r"section|page)|wann|wie ?(?:viele?|lange|hoch|oft|weit|gro[sß]+|alt|teuer)|combien|quand|cu[aá]nt[oa]s?|"
    r"cu[aá]ndo|quant[oiae]|quando)\b",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(
    r"(?:\A\W*|[,;.?!]\s*|\band )(?:how|what|when|where|which|who|whose|why|since when|is|are|does|do|can|must)\b",
    re.IGNORECASE,
)
_WHOLE_DOCUMENTS = frozenset(
    "this that these those the a an all my our your of in it its them they everything every each whole entire full "
    "complete document documents file files text texts pdf pdfs paper papers content contents collection folder upload "
    "uploads uploaded briefly shortly please short brief few some words sentence sentences points line lines for me us "
    "here now give and one two three four five six seven eight nine ten".split()
)
"""Words in a request for a summary that do not name a document."""


def asks_how(question: str) -> bool:
    """Return whether a question asks for a way to do something, and not how much, how many or how long."""
    return _HOW.search(_HOW_MUCH.sub(" ", question)) is not None


def asks_for_list(question: str) -> bool:
    """Return whether a question asks for several things: which documents, what the conditions are."""
    return _LIST.search(question) is not None


def asks_for_all(question: str) -> bool:
    """Return whether the answer may need any number of passages: a complete list, a count, or a summary."""
    return _ALL.search(question) is not None


def asks_how_many(question: str) -> bool:
    """Return whether a question asks for the number of something."""
    return re.search(r"\b(?:how many|number of)\b|^\W*count\b", question, re.IGNORECASE) is not None


def requested_topic(question: str) -> str | None:
    """Return the topic of a question that asks for everything on it, without the asking words; None for others.

    The topic of “List all deadlines in these documents” and “How many deadlines are there?” is “deadlines”. No single
    passage answers such a question, but many contribute, for example by stating when something is due.
    """
    asks = [sentence for sentence in re.split(r"(?<=[.?!])\s+", question) if asks_for_all(sentence)]
    if not asks:
        return None
    question = asks[-1]
    rest = _ASKS_FOR_ALL.sub("", _POLITE_REQUEST.sub("", question.strip()), count=1)
    topic = _PLACES.sub("", rest).strip(" \t\n?!.,:;")
    topic = re.sub(r"^(?:of )?(?:the|these|those|my|our) | (?:are|is|were|was) there\b", "", topic, flags=re.IGNORECASE)
    return topic if split_words(topic) else None


def summary_subject(question: str) -> frozenset[str] | None:
    """Return the words that name the thing to summarise, in lower case; None if the question asks for no summary.

    The set is empty if everything is to be summarised. The words need not be a document's name: “a summary of the
    rules” names a topic.
    """
    found = _SUMMARY.match(question)
    if not found:
        return None
    rest = f"{found['about'] or found['says'] or ''} {question[found.end() :]}"
    return frozenset(word.lower() for word in split_words(rest)) - _WHOLE_DOCUMENTS


def asks_for_number(question: str) -> bool:
    """Return whether the answer has a number in it: an amount, a date, a time or a version."""
    return _NUMBER_ASKED.search(question) is not None


def asks_two_things(question: str) -> bool:
    """Return whether a question has two parts, each with a question word."""
    return len(_QUESTION_WORD.findall(question)) > 1


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question can be answered with yes or no."""
    return _YES_OR_NO.search(_POLITE.sub("", question)) is not None


def needs_inference(question: str) -> bool:
    """Return whether the answer must be concluded from the sources: yes or no, or the outcome of a comparison."""
    return asks_yes_or_no(question) or _COMPARES.search(_POLITE.sub("", question)) is not None
