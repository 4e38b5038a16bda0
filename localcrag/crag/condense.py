"""Condense: turn a follow-up into a question that stands alone.

A word such as “it” or “they” points back only if it stands for something that the question itself does not name. It may
also stand for nothing (“how long does it take to …”), or for something earlier in the question (“when my tenant leaves,
must he …”). If the question nevertheless has enough words to search for, both readings are possible and the question is
doubtful.

There are three ways to complete a follow-up, tried in this order. By rule: the name in "And in Bergen?" replaces that
of the former question ("… in London?"). By a language model: a small one tends to answer instead of rewriting, or to
copy the last answer, so its text is used only if it resembles the question. Otherwise the conversation's topic question
is put in front of the new one, which is enough for retrieval. These rules know English; for other languages they know
only the words in the lexicon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from localcrag.crag.context import AskedQuestion, Clock, Context, Flow
from localcrag.crag.grading import evaluate
from localcrag.crag.llm_calls import rewrite_with_llm
from localcrag.crag.retrieve import hybrid_search
from localcrag.crag.screen import injection
from localcrag.records.enums import Skill
from localcrag.records.errors import ModelError, StoreError
from localcrag.records.events import Condensed, StepStarted
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message, Reading, Turn
from localcrag.text.lexicon import CAPITAL, Lexicon, current_lexicon
from localcrag.text.sanitize import sanitize
from localcrag.text.translation import gettext as _
from localcrag.text.words import content_words, names, one_line

MIN_WORDS = 2
"""Content words below which a question ("Why?", "In Bergen?") depends on the previous one."""
MIN_WORDS_WITH_PRONOUN = 3
"""Minimum content words of a question that may stand alone although it has a pronoun; one more if the pronoun is
“it” or “that”, which rarely mean people in general."""
MIN_LENGTH_WITH_ONE_WORD = 6
"""Minimum words of a question that may stand alone with one content word ("What should I do if there is a fire?")."""
MIN_WORDS_AFTER_AND = 6
"""Minimum content words of a question that may stand alone although it begins with “and” or “but”; most such questions
continue an earlier one."""
MIN_WORDS_BEFORE_PRONOUN = 2
"""Content words that must come before a pronoun for it to mean something in the question itself."""


class FollowUpStatus(Enum):
    """How a question depends on the conversation before it."""

    ALONE = auto()
    DOUBTFUL = auto()
    FOLLOW_UP = auto()


_POLITE = re.compile(
    r"(?i)^(?:(?:many )?thanks?(?: you)?(?: very much| a lot)?|ok(?:ay)?|great|perfect|good|nice|wow|i see|got it|"
    r"i understand|no worries|hi|hello)\b[\s,.!]*(?:that(?:'s| is)? (?:helps?|good|fine|great|all)[\s,.!]*)?"
)
_DEFINITION = re.compile(r"(?i)^(?:what|who)(?:['’]s| is| are| was| were) (?:an? )?[\w-]+\W*$")
"""Questions in which one content word is enough; by contrast, "What is the price?" asks about the price of
something."""
_OPENS = re.compile(r"(?i)^(?:and|but|so|or|then|also|(?:the )?same(?!-)|more(?! than)|what about|how about)\b")

_BE = r"(?:is|are|was|were|be|been|isn't|aren't|will|would|should|can|could|may|might)"
_IMPERSONAL_WORDS = (
    "possible|impossible|safe|true|worth|better|best|wrong|right|legal|illegal|necessary|appropriate|inappropriate|"
    "important|common|normal|okay|ok|easy|hard|difficult|advisable|wise|required|allowed|like|wrong|the|time|"
    "all right|fine|sensible|enough|likely|dangerous|forbidden|usual|customary"
)
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = r"(?:january|february|march|april|june|july|august|september|october|november|december)"
_WEATHER = r"(?:rain|snow|freez|hail|storm|thunder|blow)(?:s|ed|es|ing)?"
_WEATHER_WORDS = r"(?:windy|hot|cold|warm|wet|dry|dark|icy|foggy|stormy|sunny|stuffy|silent|quiet|late)"
_CLOCK = (
    rf"(?:\d{{1,2}}[:.]\d\d|\d+ ?(?:am|pm|o'clock|degrees|°|{MONTH})|[-−]\d|{DAY}|{MONTH}|noon|midnight|half past|"
    r"(?:day|week|month|year) \w+|(?:my|our) \w+)"
)
_PERIOD_WORDS = (
    "(?:year|month|week|morning|afternoon|evening|night|spring|summer|autumn|fall|winter|term|season|time|semester|quarter|"
    "century|half-year)"
)
_IMPERSONAL = re.compile(
    # "is it safe to …", "what is it like to …", "how long does it take to …", "would it make sense to …"
    rf"(?i)\b(?:{_BE} it|it {_BE}|it's) (?:\w+ly |ever |still |not |too |n't )?(?:{_IMPERSONAL_WORDS})\b(?=.* \w)"
    r"|\b(?:does|did|would|will|to) it (?:take|make sense|help|require)\b(?=.* to\b)|\bwhen it comes to\b"
    # "what does it cost to …", "how much is it to …", "does it matter whether …", "how long does it take until …"
    r"|\b(?:does|did|would|will) it cost\b(?=(?: \w+){0,2} to \w+ \w)|\bhow (?:much|expensive) (?:is|was) it\b(?= to\b)"
    r"|\b(?:does|did) it matter\b(?= (?:whether|which|what|if|how|when)\b)|\bdoes it take\b(?= until\b)"
    r"|\b(?:does it (?:go|count|mean)|is it)\b(?=(?: as \W?\w+\W?)? when \w+ \w)"
    # "it's raining", "it's 3 am", "it's my week", "when it gets hot"; people leave the apostrophe out
    rf"|\bit (?:{_WEATHER})\b"
    rf"|\b(?:it's|it is|it was|^its) (?:\w+ly |already |still |too |so |half )*"
    rf"(?:{_WEATHER}|{_WEATHER_WORDS}\b(?=.* \w)|{_CLOCK})"
    rf"|\b(?:when|if|where) it (?:gets|got|is|was|turns) (?:\w+ly |too |so |very )?{_WEATHER_WORDS}\b"
    # "is there a …", "the approaches there are", "there should be", "there's"
    rf"|\b{_BE} there\b(?! ?[?.!]?$)|\bthere {_BE}\b|\bthere's\b"
    # "those who", "those in Oslo"; "that" after a noun or an adjective opens a clause
    r"|\bthose (?:who|which|that|in|of|with|without|from|for)\b"
    # "this year", "these two weeks"
    rf"|\bth(?:is|ese) (?:\w+ )?(?:{_PERIOD_WORDS}|{DAY}|{MONTH})(?:'s|s)?\b"
)
_NOT = re.compile(r"(?i)\bnot\b|n't\b|\bcant\b")
"""Words before "any more" that make it mean “no longer” instead of “further ones”."""
_PERSONAL = r"(?:it|they|he|him|she|this|these|those|there|ones)"
_POSSESSIVE = r"(?:its|their|theirs|them|his|her|hers)"
_WITHIN_A_CLAUSE = re.compile(rf"(?i)\b{_POSSESSIVE}\b")
_POINTS_BACK = re.compile(
    rf"(?i)\b(?:{_PERSONAL}|{_POSSESSIVE}|former|latter|others)\b"
    rf"|\b(?:{_BE}|does|did|do|need|about|of|for|with|than|like|in|on|at|to|from|why|how|before|after|by|mean) that\b"
    r"|^that\b|\bthat ?\W*$|\b(?:beyond|above|below|over) that\b|\bthat (?:off|on|out|up|down)\b"
    r"|\b(?:which|this|that|first|second|third|last|next|other|same|another|\w+er|\w+est) one\b|\bwhich ones\b"
    r"|(?<!number )(?<!season )(?<!episode )(?<!part )(?<!step )\bone ?\W*$"
    r"|^which (?:is|are|was|were) (?:the )?(?:more |most |less |least )?\w+\W*$"
    r"|\b(?:any|what|which|some) other\b|\banother ?\W*$"
    r"|\b(?:any|some|me|know) more\b|\bmore ?\W*$"
    r"|\bsame (?:for|thing|there|with)\b|\bsame ?\W*$|\bthen ?\W*$"
    r"|\bthe two\W*$|\bboth\W*$|\bin (?:more )?detail\W*$|\bexamples?\W*$|\b(?:your|the|(?:the|your) last) answer\W*$"
    r"|\belse\b"
)
_CLAUSE = re.compile(
    r"(?i)[,;:?.–]| - |\b(?:and|but|or|if|when|while|once|since|because|that|which|who|to|does|do|so|before|after|"
    r"without|until|unless|whether|although|instead of)\b"
)
_SAYS = re.compile(r"(?i)\b(?:says?|said|claims?|thinks?|tells me)\b|\b(?:must|may|can|should|will|does|did|is|was)$")
"""Verbs that continue about a person just named: “a customer says it …”, “when my tenant leaves must he …”."""
_NAMED_THING = re.compile(
    r"(?i)\b(?:the|an?|my|our|your|any|each|every|some|no|two|three|both|all) (?:\w+ )?(?!of\b)"
    r"[^\W\d_][\w'’-]+"
)
_NAME = re.compile(rf"(?<=[^\s.!?:] )(?!I\b)[{CAPITAL}][\w'’-]+|\b\w*\d\w*")
_FIRST_PERSON_QUESTION = re.compile(
    r"(?i)\b(?:do|did|must|may|might|can|could|should|shall|will|would|am|are|was|were|have) (?:i|we) "
    r"(?!(?:do|need|get)\b)\w+"
)
"""Forms of “do I”: “When must I be quiet?” has only one content word but may be complete."""
_PEOPLE_IN_GENERAL = re.compile(r"(?i)\bthey\b(?=.*\b(?:me|us|my|our|your?)\b)")


_IT = re.compile(r"(?i)it|that one|.*\bthat|those|ones")
_ASKS = re.compile(rf"(?i)^(?:what|who|when|where|why|how|which|does|did|do|has|have|{_BE})\b")


def follow_up_status(question: str) -> FollowUpStatus:
    """Return how the question depends on the conversation before it; a mere thank-you stands alone."""
    asked = _POLITE.sub("", one_line(question).replace("’", "'"))
    if not asked:
        return FollowUpStatus.ALONE
    # Of other languages only lists of words are known, and no grammar.
    known = current_lexicon()
    words = len(content_words(asked))
    stands_for = _open_pronoun_in_lexicon(asked, known) if known else _open_pronoun(asked)
    whole = len(asked.split()) >= MIN_LENGTH_WITH_ONE_WORD
    if (known.goes_on if known else _OPENS).match(asked):
        may_stand_alone = words >= MIN_WORDS_AFTER_AND
    elif words < MIN_WORDS and not (known.definition_pattern if known else _DEFINITION).match(asked):
        may_stand_alone = words > 0 and not stands_for and whole
        if not known:
            whole = whole or _FIRST_PERSON_QUESTION.search(asked) is not None
            own = (whole and not stands_for) or _names_a_topic(asked)
            may_stand_alone = words > 0 and own and _ASKS.match(asked) is not None
    elif not stands_for:
        return FollowUpStatus.ALONE
    else:
        enough = MIN_WORDS_WITH_PRONOUN + bool(known or _IT.fullmatch(stands_for))
        may_stand_alone = words >= enough or bool(names(asked) if known else _names_a_topic(asked))
    return FollowUpStatus.DOUBTFUL if may_stand_alone else FollowUpStatus.FOLLOW_UP


def _open_pronoun_in_lexicon(asked: str, known: Lexicon) -> str:
    """Return the first pronoun for something that the question does not name before it, or an empty string."""
    plain = known.says_nothing.sub(lambda found: "_" * len(found[0]), asked)
    for found in known.pronoun_pattern.finditer(plain):
        # In mid-sentence, a capitalised German “Sie” or “Ihr” addresses the reader and does not point back.
        polite = known.capital_nouns and found.start() > 0 and found[0][0].isupper()
        if not polite and len(content_words(plain[: found.start()].replace("_", " "))) < MIN_WORDS_BEFORE_PRONOUN:
            return found[0]
    return ""


def _names_a_topic(question: str) -> bool:
    """Return whether the question names something, or has a “they” for people whom the user deals with."""
    return _NAME.search(question) is not None or _PEOPLE_IN_GENERAL.search(question) is not None


def _open_pronoun(question: str) -> str:
    """Return the first pronoun for something that the question does not name before it, or an empty string."""
    plain = _IMPERSONAL.sub(lambda found: "_" * len(found[0]), question)
    for found in _POINTS_BACK.finditer(plain):
        if found[0].lower() == "else" and _NAME.search(question.partition(" ")[2]):
            continue
        # “Not … any more” means “no longer” and does not ask for anything further.
        if found[0].lower() == "any more" and _NOT.search(question[: found.start()]):
            continue
        if not _has_antecedent(plain[: found.start()], found[0]):
            return found[0]
    return ""


def _has_antecedent(before: str, pronoun: str) -> bool:
    """Return whether a pronoun can stand for something in `before`, the part of the question before it.

    That part has to name something in a different clause from the pronoun's.
    """
    # The first word, such as “when” or “is”, opens the question and does not begin another clause.
    behind_the_first = before.strip().partition(" ")[2]
    apart = _WITHIN_A_CLAUSE.fullmatch(pronoun) or _CLAUSE.search(behind_the_first) or _SAYS.search(behind_the_first)
    named = len(content_words(before.replace("_", " "))) >= MIN_WORDS_BEFORE_PRONOUN or _NAMED_THING.search(before)
    return bool(apart and named)


SYSTEM = (
    "You rewrite the user's last question so that it can be understood without the conversation. "
    "Replace words such as it, they, he, she, this or there by what they stand for. "
    "Change nothing else and do not answer. Write only the rewritten question."
)
DECODING = Decoding(max_tokens=60)
MAX_WORDS = 40
"""Maximum words of a rewritten question."""
KEPT_SHARE = 0.6
"""Minimum share of the follow-up's content words that its rewriting must keep."""
ANSWER_CHARACTERS = 300
"""Characters of each earlier answer in the prompt: enough to show what "it" is."""
MAX_NAMES = 3
"""Maximum number of names from the last answer that are put in front of a question that could not be rewritten."""

_CAPITAL = f"[{CAPITAL}]"
_CAPITALISED = re.compile(
    rf"\b{_CAPITAL}[\w'’-]*(?: (?:of|de|van|von|the|{_CAPITAL}[\w'’-]*)(?= {_CAPITAL})| {_CAPITAL}[\w'’-]*)*"
)
_NUMBER = re.compile(r" \d{1,4}\b")
_PERSON = re.compile(r"(?i)\b(?:he|she|him|his|hers?)\b")
_TIME = re.compile(rf"(?i)(?:{MONTH}|may|{DAY}s?|spring|summer|autumn|winter)\b")
_FORM = re.compile(r"English|German|French|Spanish|EUR|[Ee]uros?|USD|[Dd]ollars?|GBP|[Pp]ounds?|I")
_PREPOSITION = r"(?:in|on|at|for|from|to|with|of|by|after|before|during)"
_ANOTHER = re.compile(
    rf"^(?=(?i:and|or|but|what about|how about|the same|{_PREPOSITION})\b)(?i:(?:and|or|but) )?"
    rf"(?i:what about |how about |the same (?=for|in|with))?(?:(?P<by>(?i:{_PREPOSITION})) )?"
    rf"(?P<what>(?:the )?[{CAPITAL}0-9][\w'’-]*(?: [{CAPITAL}0-9][\w'’-]*)*)(?:,? please)?\W*$"
)


def stands_alone(question: str) -> bool:
    """Return whether a question can be understood without the conversation, as far as its words show.

    Such a question is not rewritten, because a small model's rewriting can only harm it. A mere thank-you is not,
    either.
    """
    return follow_up_status(question) is FollowUpStatus.ALONE


def context_turns(question: str, history: Sequence[Turn], *, turns: int) -> tuple[Turn, ...]:
    """Return up to `turns` last turns as context for a question; none if it stands alone.

    A question that stands alone is answered without the conversation, which the model would imitate. If all of these
    turns depend on an earlier one, that turn replaces the oldest.
    """
    if stands_alone(question) or not turns:
        return ()
    last = tuple(history)[-turns:]
    if any(stands_alone(turn.question) for turn in last):
        return last
    topics = [turn for turn in history[:-turns] if stands_alone(turn.question)]
    return (*topics[-1:], *last[len(topics[-1:]) :]) if turns > 1 else last


def rewrite_by_rule(question: str, history: Sequence[Turn]) -> str | None:
    """Return the previous question with another name ("And in Bergen?"), or None for other kinds of follow-up.

    The new name replaces the name after the same preposition, or else the last name in the previous question.
    """
    known = current_lexicon()
    found = (known.another if known else _ANOTHER).match(one_line(question))
    former = one_line(next((turn.question for turn in reversed(history) if stands_alone(turn.question)), ""))
    if found is None or not former:
        return None
    # The first word is always capitalised, so it is not a name to replace.
    first = former.partition(" ")[0]
    places = [name for name in _CAPITALISED.finditer(former) if name.start() > len(first)]
    if found["by"]:
        before = f" {found['by']} ".lower()
        after_it = [name for name in places if former[: name.start()].lower().endswith((before, f"{before}the "))]
        # "For Bergen?" may replace any name; other prepositions must also occur in the previous question.
        places = after_it or (places if before == " for " else [])
    # "Form B" replaces "Form A", wherever that is in the question.
    alike = [name for name in places if name[0].split()[0] == found["what"].split()[0]]
    if not places or (not found["by"] and not alike and (len(places) > 1 or " of " in places[0][0])):
        return None  # It is unclear which of several names, or which part of one, is meant.
    places = alike or places
    place, what = places[-1], found["what"]
    if _kind(what) != _kind(place[0]):
        return None
    if what.lower().startswith("the ") and former[: place.start()].lower().endswith("the "):
        what = what[len("the ") :]
    # "Windows 11" replaces "Windows 10", number and all.
    number = _NUMBER.match(former, place.end()) if what[-1].isdigit() else None
    return f"{former[: place.start()]}{what}{former[number.end() if number else place.end() :]}"


def _kind(name: str) -> str:
    """Return the kind of thing that a name stands for, as far as the name shows it; names replace only their own kind.

    The form of an answer ("in German", "in dollars") is a separate kind, so that it replaces nothing in a question.
    """
    bare = name.removeprefix("the ").removeprefix("The ")
    if _FORM.fullmatch(bare):
        return f"form of {bare}"
    return "time" if _TIME.match(bare) else "number" if bare[0].isdigit() else "name"


def prompt(question: str, history: Sequence[Turn]) -> list[Message]:
    """Return the messages that ask for the rewriting."""
    turns = "".join(
        f"User: {one_line(turn.question)}\nAssistant: {sanitize(turn.answer)[:ANSWER_CHARACTERS]}\n" for turn in history
    )
    conversation = f"Conversation:\n{turns}User: {one_line(question)}\n\nRewritten last question:"
    return [Message("system", SYSTEM), Message("user", conversation)]


def accept(written: str, question: str, history: Sequence[Turn]) -> str:
    """Return the rewriting if it can be trusted, else the question with its topic in front (`with_topic`).

    Rejected are an empty text, several questions, a paragraph, a text that lost the question's own words or has a word
    that is not in the conversation, and a text that adds nothing from the topic. For "he" and "she" any added word is
    enough, such as a name from the answer.
    """
    candidate = one_line(written).strip("\"'“” ")
    asked, wanted = content_words(question), content_words(candidate)
    # The rewriting may only use words of the question and the conversation.
    known = asked | {word for turn in history for word in content_words(turn.question) | content_words(turn.answer)}
    new = wanted - asked
    sensible = (
        candidate.endswith("?")
        and candidate.count("?") == 1
        and len(candidate.split()) <= MAX_WORDS
        and len(asked & wanted) >= KEPT_SHARE * len(asked)
        and wanted <= known
        and bool(new if _PERSON.search(question) else new & content_words(topic(history)))
    )
    return candidate if sensible else with_topic(question, history)


def with_topic(question: str, history: Sequence[Turn]) -> str:
    """Return the topic question, the previous question if it is a different one, and then the question.

    For "he" and "she" the names in the last answer come in between.
    """
    before = " ".join(dict.fromkeys([topic(history), one_line(history[-1].question)]))
    if _PERSON.search(question) is None:
        return f"{before} {one_line(question)}"
    text = content_words(f"{before} {question}")
    answer = one_line(history[-1].answer)[:ANSWER_CHARACTERS]
    # A single capitalised word at the start of a sentence may be any word.
    found = _CAPITALISED.finditer(answer)
    sure = [name[0] for name in found if " " in name[0] or answer[: name.start()].strip()[-1:].isalnum()]
    new = [name for name in sure if content_words(name) - text]
    names = ", ".join(dict.fromkeys(new[:MAX_NAMES]))
    return " ".join(part for part in (before, names, one_line(question)) if part)


def topic(history: Sequence[Turn]) -> str:
    """Return the last question that stood alone, or the last question if none did."""
    return one_line(next((t.question for t in reversed(history) if stands_alone(t.question)), history[-1].question))


BUDGET_PASSAGES = 2
"""Passages of each reading that are scored if there is a time budget."""


def compare_readings(question: str, joined: str, history: Sequence[Turn], context: Context) -> tuple[Reading, ...]:
    """Return the two readings, the question alone and `joined` with its conversation, with one of them kept.

    The relevance of a reading is that of its best passage to the question as asked. With the conversation, the best
    passage is often just the answer to the previous question, which proves nothing about this one. The follow-up is
    kept if its passage is more relevant than the other and not INCORRECT.

    The result is empty if the two cannot be compared: a failure here also occurs in the following steps, which report
    it.
    """
    if not context.steps.evaluate:
        return ()
    try:
        by_itself, as_follow_up = (_best_relevance(read, question, context) for read in (question, joined))
    except (ModelError, StoreError):
        return ()
    follows = as_follow_up > by_itself and as_follow_up >= context.parts.scorer.calibration.thresholds.lower
    return (
        Reading(question, "", by_itself, kept=not follows),
        Reading(joined, topic(history), as_follow_up, kept=follows),
    )


def _best_relevance(read: str, question: str, context: Context) -> float:
    """Return the relevance to `question` of the best passage found for its reading `read`; 0 if there is none.

    The reranker scores it even if the language model grades passages, because that would take a call per passage.
    """
    parts, settings = context.parts, context.settings
    found = hybrid_search(
        read, read, k=BUDGET_PASSAGES if context.budget.limited else settings.k, candidates=settings.candidates,
        embedder=parts.embedder, index=parts.index, store=parts.store, within=context.within,
    )  # fmt: skip
    passages = injection.screened(found, parts.rules)
    graded = evaluate(read, passages, scorer=parts.scorer, thresholds=context.thresholds)
    if read != question and graded:
        best, _ = max(zip(passages, graded, strict=True), key=lambda pair: pair[1].relevance)
        # The passage is close to the reading, in which “it” has a name; the score is for the words that the user wrote.
        graded = evaluate(question, [best], scorer=parts.scorer, thresholds=context.thresholds)
    return max((passage.relevance for passage in graded), default=0.0)


def condense(question: str, history: Sequence[Turn], context: Context) -> Flow[AskedQuestion]:
    """Return the question with its history; yield Condensed if there is a history.

    If the words do not show whether it is a follow-up, the passages found for both readings decide.
    """
    if not history:
        return AskedQuestion(question, question)
    history = injection.screened_turns(history, context.parts.rules)
    yield StepStarted("condense", _("reading the question in the context of the chat"))
    clock = context.clock("condense")
    joined = yield from _rewrite_follow_up(question, history, context, clock)
    readings: tuple[Reading, ...] = ()
    if follow_up_status(question) is FollowUpStatus.DOUBTFUL:
        yield StepStarted("condense", _("comparing two readings of the question"))
        readings = compare_readings(question, joined, history, context)
    by_itself = any(reading.kept and not reading.follows for reading in readings)
    asked = AskedQuestion(question, question) if by_itself else AskedQuestion(question, joined, history)
    yield Condensed(asked.standalone, clock.cost(), readings)
    return asked


def _rewrite_follow_up(question: str, history: Sequence[Turn], context: Context, clock: Clock) -> Flow[str]:
    """Return the question completed from the conversation."""
    if (ruled := rewrite_by_rule(question, history)) is not None:
        return ruled
    asked = prompt(question, history)
    written = yield from rewrite_with_llm(Skill.FOLLOW_UPS, asked, DECODING, context, clock)
    return accept(written, question, history)
