"""Whether a question leans on what was said before it, as far as its own words tell.

A word such as “it” or “they” points back only where it stands for something that the question does not say itself.
It may also stand for nothing (“how long does it take to …”) or for what comes before it (“when my tenant leaves, must
he …”). Where the question has much of its own to look for all the same, both readings are possible: it is doubtful.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from localcrag.text.letters import CAPITAL
from localcrag.text.lexicon.languages import lexicon
from localcrag.text.lexicon.lexicon import Lexicon
from localcrag.text.words import content_words, names, one_line

FEWEST_WORDS = 2
"""Content words below which a question ("Why?", "In Bergen?") leans on the one before."""
ENOUGH_WORDS = 3
"""Content words from which on a question with a pronoun may be one of its own; one more where that is “it” or “that”,
which hardly ever stand for people in general."""
LONG_ENOUGH = 6
"""Words from which on a question of one content word may be one of its own ("What should I do if there is a fire?")."""
ENOUGH_BEHIND_AND = 6
"""The same for a question that begins with “and” or “but”, which mostly goes on from something."""
NAMED_BEFORE = 2
"""Content words that a question must have said before a pronoun, for that to mean something in the question itself."""


class Leaning(Enum):
    """How a question hangs on the conversation before it."""

    ALONE = auto()
    DOUBTFUL = auto()
    FOLLOW_UP = auto()


_POLITE = re.compile(
    r"^(?:(?:many )?thanks?(?: you)?(?: very much| a lot)?|ok(?:ay)?|great|perfect|good|nice|wow|i see|got it|"
    r"i understand|no worries|hi|hello)\b[\s,.!]*(?:that(?:'s| is)? (?:helps?|good|fine|great|all)[\s,.!]*)?",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^(?:what|who)(?:['’]s| is| are| was| were) (?:an? )?[\w-]+\W*$", re.IGNORECASE)
"""One content word is enough for these; "What is the price?" asks about the price of something."""
_OPENS = re.compile(
    r"^(?:and|but|so|or|then|also|(?:the )?same(?!-)|more(?! than)|what about|how about)\b", re.IGNORECASE
)

_BE = r"(?:is|are|was|were|be|been|isn't|aren't|will|would|should|can|could|may|might)"
_JUDGED = (
    "possible|impossible|safe|true|worth|better|best|wrong|right|legal|illegal|necessary|appropriate|inappropriate|"
    "important|common|normal|okay|ok|easy|hard|difficult|advisable|wise|required|allowed|like|wrong|the|time|"
    "all right|fine|sensible|enough|likely|dangerous|forbidden|usual|customary"
)
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = r"(?:january|february|march|april|june|july|august|september|october|november|december)"
_WEATHER = r"(?:rain|snow|freez|hail|storm|thunder|blow)(?:s|ed|es|ing)?"
_FELT = r"(?:windy|hot|cold|warm|wet|dry|dark|icy|foggy|stormy|sunny|stuffy|silent|quiet|late)"
_CLOCK = (
    rf"(?:\d{{1,2}}[:.]\d\d|\d+ ?(?:am|pm|o'clock|degrees|°|{MONTH})|[-−]\d|{DAY}|{MONTH}|noon|midnight|half past|"
    r"(?:day|week|month|year) \w+|(?:my|our) \w+)"
)
_WHILE = (
    "(?:year|month|week|morning|afternoon|evening|night|spring|summer|autumn|fall|winter|term|season|time|semester|quarter|"
    "century|half-year)"
)
_SAYS_NOTHING = re.compile(
    # "is it safe to …", "what is it like to …", "how long does it take to …", "would it make sense to …"
    rf"\b(?:{_BE} it|it {_BE}|it's) (?:\w+ly |ever |still |not |too |n't )?(?:{_JUDGED})\b(?=.* \w)"
    r"|\b(?:does|did|would|will|to) it (?:take|make sense|help|require)\b(?=.* to\b)|\bwhen it comes to\b"
    # "what does it cost to …", "how much is it to …", "does it matter whether …", "how long does it take until …"
    r"|\b(?:does|did|would|will) it cost\b(?=(?: \w+){0,2} to \w+ \w)|\bhow (?:much|expensive) (?:is|was) it\b(?= to\b)"
    r"|\b(?:does|did) it matter\b(?= (?:whether|which|what|if|how|when)\b)|\bdoes it take\b(?= until\b)"
    r"|\b(?:does it (?:go|count|mean)|is it)\b(?=(?: as \W?\w+\W?)? when \w+ \w)"
    # "it's raining", "it's 3 am", "it's my week", "when it gets hot"; people leave the apostrophe out
    rf"|\bit (?:{_WEATHER})\b"
    rf"|\b(?:it's|it is|it was|^its) (?:\w+ly |already |still |too |so |half )*"
    rf"(?:{_WEATHER}|{_FELT}\b(?=.* \w)|{_CLOCK})"
    rf"|\b(?:when|if|where) it (?:gets|got|is|was|turns) (?:\w+ly |too |so |very )?{_FELT}\b"
    # "is there a …", "the approaches there are", "there should be", "there's"
    rf"|\b{_BE} there\b(?! ?[?.!]?$)|\bthere {_BE}\b|\bthere's\b"
    # "those who", "those in Oslo"; "that" after a noun or an adjective opens a clause
    r"|\bthose (?:who|which|that|in|of|with|without|from|for)\b"
    # "this year", "these two weeks"
    rf"|\bth(?:is|ese) (?:\w+ )?(?:{_WHILE}|{DAY}|{MONTH})(?:'s|s)?\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bnot\b|n't\b|\bcant\b", re.IGNORECASE)
"""Before "any more": no longer, rather than further ones."""
_PERSONAL = r"(?:it|they|he|him|she|this|these|those|there|ones)"
_POSSESSIVE = r"(?:its|their|theirs|them|his|her|hers)"
_WITHIN_A_CLAUSE = re.compile(rf"\b{_POSSESSIVE}\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    rf"\b(?:{_PERSONAL}|{_POSSESSIVE}|former|latter|others)\b"
    rf"|\b(?:{_BE}|does|did|do|need|about|of|for|with|than|like|in|on|at|to|from|why|how|before|after|by|mean) that\b"
    r"|^that\b|\bthat ?\W*$"
    r"|\b(?:which|this|that|first|second|third|last|next|other|same|another|\w+er|\w+est) one\b|\bwhich ones\b"
    r"|(?<!number )(?<!season )(?<!episode )(?<!part )(?<!step )\bone ?\W*$"
    r"|^which (?:is|are|was|were) (?:the )?(?:more |most |less |least )?\w+\W*$"
    r"|\b(?:any|what|which|some) other\b|\banother ?\W*$"
    r"|\b(?:any|some|me|know) more\b|\bmore ?\W*$"
    r"|\bsame (?:for|thing|there|with)\b|\bsame ?\W*$|\bthen ?\W*$"
    r"|\bthe two\W*$|\bboth\W*$|\bin (?:more )?detail\W*$|\bexamples?\W*$|\b(?:your|the|(?:the|your) last) answer\W*$"
    r"|\belse\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:?.–]| - |\b(?:and|but|or|if|when|while|once|since|because|that|which|who|to|does|do|so|before|after|without|"
    r"until|unless|whether|although|instead of)\b",
    re.IGNORECASE,
)
_SAYS = re.compile(r"\b(?:says?|said|claims?|thinks?|tells me)\b|\b(?:must|may|can|should|will|does|did|is|was)$", re.I)
"""What goes on about somebody who was just named: “a customer says it …”, “when my tenant leaves must he …”."""
_NAMED_THING = re.compile(
    r"\b(?:the|an?|my|our|your|any|each|every|some|no|two|three|both|all) (?:\w+ )?(?!of\b)"
    r"[^\W\d_][\w'’-]+",
    re.IGNORECASE,
)
_NAME = re.compile(rf"(?<=[^\s.!?:] )(?!I\b)[{CAPITAL}][\w'’-]+|\b\w*\d\w*")
_I_DO = re.compile(
    r"\b(?:do|did|must|may|might|can|could|should|shall|will|would|am|are|was|were|have) (?:i|we) "
    r"(?!(?:do|need|get)\b)\w+",
    re.IGNORECASE,
)
"""“When must I be quiet?” has one word to look for, and may well need no more."""
_PEOPLE_IN_GENERAL = re.compile(r"\bthey\b(?=.*\b(?:me|us|my|our|your?)\b)", re.IGNORECASE)


_IT = re.compile(r"it|that one|.*\bthat|those|ones", re.IGNORECASE)
_ASKS = re.compile(rf"^(?:what|who|when|where|why|how|which|does|did|do|has|have|{_BE})\b", re.IGNORECASE)


def leaning(question: str) -> Leaning:
    """Return how the question hangs on what was said before it; a mere thank-you does not."""
    asked = _POLITE.sub("", one_line(question).replace("’", "'"))
    if not asked:
        return Leaning.ALONE
    if known := lexicon():
        return _by_lists(asked, known)
    words, stands_for = len(content_words(asked)), _points_back(asked)
    if _OPENS.match(asked):
        return Leaning.DOUBTFUL if words >= ENOUGH_BEHIND_AND else Leaning.FOLLOW_UP
    if words < FEWEST_WORDS and not _DEFINITION.match(asked):
        whole = len(asked.split()) >= LONG_ENOUGH or _I_DO.search(asked)
        own = words and _ASKS.match(asked) and ((whole and not stands_for) or _has_its_own(asked))
        return Leaning.DOUBTFUL if own else Leaning.FOLLOW_UP
    if not stands_for:
        return Leaning.ALONE
    enough = ENOUGH_WORDS + bool(_IT.fullmatch(stands_for))
    return Leaning.DOUBTFUL if words >= enough or _has_its_own(asked) else Leaning.FOLLOW_UP


def _by_lists(asked: str, known: Lexicon) -> Leaning:
    """Return the same of a question in another language, of which words are known and no grammar."""
    words = len(content_words(asked))
    if known.goes_on.match(asked):
        return Leaning.DOUBTFUL if words >= ENOUGH_BEHIND_AND else Leaning.FOLLOW_UP
    stands_for = _stands_for_something(asked, known)
    if words < FEWEST_WORDS and not known.asks_what_it_is.match(asked):
        whole = words and not stands_for and len(asked.split()) >= LONG_ENOUGH
        return Leaning.DOUBTFUL if whole else Leaning.FOLLOW_UP
    if not stands_for:
        return Leaning.ALONE
    return Leaning.DOUBTFUL if words > ENOUGH_WORDS or names(asked) else Leaning.FOLLOW_UP


def _stands_for_something(asked: str, known: Lexicon) -> bool:
    """Whether it has a pronoun for something that it does not say itself before."""
    plain = known.says_nothing.sub(lambda found: "_" * len(found[0]), asked)
    for found in known.points_back.finditer(plain):
        polite = known.capital_nouns and found.start() > 0 and found[0][0].isupper()
        if not polite and len(content_words(plain[: found.start()].replace("_", " "))) < NAMED_BEFORE:
            return True
    return False


def _has_its_own(question: str) -> bool:
    """Whether it names something, or speaks of a “they” who has to do with the person who asks."""
    return _NAME.search(question) is not None or _PEOPLE_IN_GENERAL.search(question) is not None


def _points_back(question: str) -> str:
    """Return the word of the question that stands for something which it does not say itself before; empty: none."""
    plain = _SAYS_NOTHING.sub(lambda found: "_" * len(found[0]), question)
    for found in _POINTS_BACK.finditer(plain):
        if found[0].lower() == "else" and _NAME.search(question.partition(" ")[2]):
            continue
        if found[0].lower() == "any more" and _NOT.search(question[: found.start()]):
            continue
        if not _explained(plain[: found.start()], found[0]):
            return found[0]
    return ""


def _explained(said: str, pronoun: str) -> bool:
    """Whether what was `said` before a pronoun, in another clause of the same question, can be what it stands for."""
    behind_the_first = said.strip().partition(" ")[2]
    apart = _WITHIN_A_CLAUSE.fullmatch(pronoun) or _CLAUSE.search(behind_the_first) or _SAYS.search(behind_the_first)
    named = len(content_words(said.replace("_", " "))) >= NAMED_BEFORE or _NAMED_THING.search(said)
    return bool(apart and named)
