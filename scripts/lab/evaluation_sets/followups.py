"""Make follow-ups from two questions about one paragraph: a pronoun replaces their common subject.

The rules prefer to make no follow-up rather than a wrong one. They use the questions, the article's title and the
paragraph, and know no more English than a few dozen verbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERBS = (
    "accept adopt agree allow appear arrive attack attempt attract award base become begin believe belong break build "
    "buy call cause change choose claim close come compete conduct connect consider consist contain contribute "
    "control cover create decide declare define deliver depend describe design develop die differ discover divide "
    "earn eat employ enact end enter establish exist expand experience export face fail fall feel fight find finish "
    "fire flow focus follow form found gain get give go grow happen have help hold host house include increase "
    "inspire introduce invade invent join keep kill know launch lead leave lie live locate lose make marry mean meet "
    "move need object occupy occur offer open operate oppose organize originate own participate pass pay perform play "
    "practice produce promote propose protect provide publish pursue put reach receive recognize refer refuse reject "
    "release rely remain remove replace represent require reside return reveal rule run say see seek sell send serve "
    "set settle share show sign speak spend spread stand start state stay stop study succeed suffer suggest support "
    "surrender take teach think travel try turn use visit vote want win work write"
).split()
_AFTER = "|".join(
    "in on at to from by for with about as into during after before between over under through within and or when "
    "while since until first also originally usually".split()
)
_NAME = re.compile(r"(?<=[\w,] )(?:the )?[A-Z][\w'’.-]*\w(?: (?:of |the |de )*[A-Z][\w.-]*\w)*")
_DO = "did|does|do"
_NO_THING = frozenset("Officer President Minister King Queen Pope Emperor General Dutch French British Polish".split())


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The second question with its pronoun, and the rule that inserted it."""

    question: str
    rule: str


def follow_up(first: str, second: str, title: str, passage: str) -> FollowUp | None:
    """Return `second` as a follow-up to `first`; None if no rule is sure."""
    for name, pronouns, kind in _shared(first, second, title, passage):
        for rule, pattern, form in _rules(name, pronouns):
            made, times = re.subn(pattern, form, second)
            if times == 1 and not re.search(re.escape(_bare(name)), made, re.IGNORECASE):
                return FollowUp(made[:1].upper() + made[1:], f"{kind}: {rule}")
    return None


@dataclass(frozen=True, slots=True)
class _Pronouns:
    subject: str
    object: str
    possessive: str
    place: bool = False


_IT = _Pronouns("it", "it", "its")
_HERE = _Pronouns("it", "it", "its", place=True)
_THEY = _Pronouns("they", "them", "their")
_HE = _Pronouns("he", "him", "his")
_SHE = _Pronouns("she", "her", "her")


def _shared(first: str, second: str, title: str, passage: str) -> list[tuple[str, _Pronouns, str]]:
    """Return the names in both questions with their pronouns: the article's subject, a thing with “the”, a person."""
    found: list[tuple[str, _Pronouns, str]] = []
    if _is_about(title, first) and _is_about(title, second):
        # A plural subject, such as Ctenophora, needs “they”.
        many = re.search(rf"\bdo (?i:{re.escape(title)})\b", second)
        found.append((title, _THEY if many else _place(title, second), "title"))
    plural = f"{title}s"
    if _is_about(plural, first) and _is_about(plural, second):
        found.append((plural, _THEY, "title, plural"))
    for match in _NAME.findall(second):
        name = match.removesuffix("'s").removesuffix("’s")
        bare = _bare(name)
        if title.lower() in bare.lower() or not _is_about(bare, first):
            continue
        if name != bare:
            words = (bare.split()[0], bare.split()[-1])
            if (
                f" the {bare}" in first
                and f"for the {bare}" not in first
                and not any(word.endswith("s") or word in _NO_THING for word in words)
            ):
                found.append((bare, _IT, "thing"))
        elif person := _person(name, first, second, passage):
            found.append((name, person, "person"))
    return found


def _is_about(name: str, question: str) -> bool:
    """Return whether the question contains the name, not only within a longer one (Warsaw Uprising, Bank of Warsaw)."""
    inner = rf"(?i:{re.escape(name)})\b"
    longer = re.sub(rf"[A-Z][\w-]+ of (?:the )?{inner}|[a-z]-{inner}", "", question)
    return bool(re.search(rf"\b{inner}(?![- ]?[A-Z-])", longer))


def _place(title: str, second: str) -> _Pronouns:
    named = title in second and title.istitle() and not title.endswith("ism")
    return _HERE if named and f"the {title}" not in second else _IT  # nothing happens “there” in the Rhine


def _person(name: str, first: str, second: str, passage: str) -> _Pronouns | None:
    """Return a pronoun if the passage uses it after the name, and never uses the other one."""
    inner = re.escape(name)
    if re.search(rf"\b(?:an?|the|and|or) {inner}|{inner}(?:['’]s)? (?:and|or) |\bbetween\b", f"{first} {second}"):
        return None
    if re.search(rf"{inner}['’]s (\w+).* \1", f"{first} {second}"):
        return None  # Fermat's theorem must not become “his theorem”.
    he, she = (re.search(rf"\b(?:{words})\b", passage, re.IGNORECASE) for words in ("he|his|him", "she|hers?"))
    if bool(he) == bool(she):
        return None
    pronoun = "he|his" if he else "she|her"
    near = rf"{inner}(?:['’]s)?[^.;]{{1,90}}\b(?:{pronoun})\b|{inner}[^.]*\. (?:{pronoun})\b"
    return (_HE if he else _SHE) if re.search(near, passage, re.IGNORECASE) else None


def _rules(name: str, pronouns: _Pronouns) -> list[tuple[str, str, str]]:
    """Return the name, pattern and replacement of each rule, surest first."""
    # Questions write a title with and without capitals.
    entity = rf"(?i:the )?(?i:{re.escape(name)})"
    verbs = "|".join(_VERBS)
    rules = [
        ("of", rf"\b(is|was|are|were) the ((?:[a-z]+ )?[a-z]+) of {entity}\s*\?", rf"\1 {pronouns.possessive} \2?"),
        ("possessive", rf"\b{entity}['’]s\b", pronouns.possessive),
        ("subject", rf"\b({_DO}) {entity}(?= (?:{verbs})\b)", rf"\1 {pronouns.subject}"),
        (
            "passive",
            rf"\b(is|was|are|were|has|have|had) {entity}(?= (?:[a-z]+ed|built|found|known|made|held|born|been)\b)",
            rf"\1 {pronouns.subject}",
        ),
    ]
    if pronouns.place:
        rules.append(("place", rf"\b(?<!part )in {entity}(?=\?| (?:{_AFTER})\b)", "there"))
    if pronouns is _THEY:
        rules.append(("object", rf"(?<=[a-z]ed )by {entity}(?=\?)", f"by {pronouns.object}"))
    return rules


def _bare(name: str) -> str:
    return name.removeprefix("the ")
