"""A judge of prompt injection for wordings that no pattern knows: weighted groups of words.

The patterns of rules.py match whole phrases. An attack in other words still has to mention an answer, the question, the
reader, or something to ignore. Each group is one such subject, and the judge weighs which of them occur together.

It is a logistic regression over three kinds of features, each present or absent: the groups, pairs of groups, and
words, alone and in twos. `scripts/lab/injection/train_injection.py` fits it on localcrag's own wordings and on
sentences of legitimate texts, and writes the weights next to this module. Long sentences are judged in windows, because
a long text contains something of every group.

RE2 (Russ Cox, “Regular Expression Matching in the Wild”, 2010) looks for all groups in one pass. Python's own `re`
checks what RE2 finds, so that the result is the same as without RE2. RE2 has no lookaround and knows ASCII letters
only: its patterns have their lookarounds removed, which matches more, and texts with other letters are left to `re`.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import re2

MEMORY = 32 * 2**20
"""Bytes that RE2 may use for the states of its patterns; when they are full, it starts again and is slower."""
_ANYTHING = ""
"""A pattern that matches every text: if RE2 does not find it, RE2 gave up, which it does not report."""
_NOT_PLAIN = re.compile(r"[^\W\x00-\x7f]|[^\S ]|[\x00-\x1f\x7f\ud800-\udfff]")
"""A letter, digit or space that RE2 does not recognise, or a character that RE2 does not accept."""
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")


class PatternSet:
    """Patterns that are matched together, numbered in the order given."""

    def __init__(self, patterns: Sequence[re.Pattern[str]], *, memory: int = MEMORY) -> None:
        """Compile the patterns; `memory` is the number of bytes that RE2 may take."""
        self._patterns = tuple(patterns)
        options: Any = re2.Options()
        options.max_mem, options.log_errors = memory, False
        self._set: Any = re2.Set.SearchSet(options)
        self._set.Add(_ANYTHING)
        self._known: list[int] = []
        """Numbers of the patterns that RE2 has compiled, in its order."""
        self._unknown: list[int] = []
        """Numbers of the patterns that RE2 cannot compile."""
        for place, pattern in enumerate(self._patterns):
            (self._known if self._takes(pattern) else self._unknown).append(place)
        self._set.Compile()

    def _takes(self, pattern: re.Pattern[str]) -> bool:
        regardless = "(?i)" if pattern.flags & re.IGNORECASE else ""
        try:
            self._set.Add(regardless + without_lookaround(pattern.pattern))
        except re2.error:
            return False
        return True

    def fitting(self, text: str) -> list[int]:
        """Return the numbers of the patterns that match a text, in ascending order."""
        return [place for place in self._possible(text) if self._patterns[place].search(text)]

    def _possible(self, text: str) -> Sequence[int]:
        found = None if _NOT_PLAIN.search(text) else cast("list[int] | None", self._set.Match(text))
        if not found:
            # RE2 cannot read this text or gave up, so every pattern has to be tried.
            return range(len(self._patterns))
        # RE2 counts _ANYTHING as number 0.
        return sorted([*(self._known[number - 1] for number in found if number), *self._unknown])


def without_lookaround(pattern: str) -> str:
    """Return a pattern without lookarounds, which matches at least everything that the original matches."""
    while match := _LOOKS_AROUND.search(pattern):
        pattern = f"{pattern[: match.start()]}(?:){pattern[_group_end(pattern, match.start()) :]}"
    return pattern


def _group_end(pattern: str, at: int) -> int:
    """Return the end of the group that opens at `at`."""
    depth, in_class = 0, False
    while True:
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return at + 1
        at += 1


_MACHINE = (
    r"\b(?:AIs?|A\.I\.|artificial intelligences?|LLMs?|(?:large |small )?language models?|chat ?bots?|\w*GPT\w*|"
    r"copilots?|AI (?:assistants?|systems?|models?|agents?|tools?|readers?)|(?:automated|artificial|virtual|digital|"
    r"machine) (?:readers?|assistants?|systems?|agents?|tools?|summari[sz]ers?|software)|summari[sz]ers?|neural "
    r"networks?|(?:question[- ]answering|answer) (?:engines?|systems?|machines?)|machines? that (?:reads?|answers?)|KI|"
    r"Sprachmodelle?n?s?|IA|mod[eè]les? de langage|modelos? de (?:lenguaje|linguagem)|modell[io] linguistic[io]|"
    r"taalmodel\w*|model\w* językow\w*|ИИ|языков\w+ модел\w+|нейросет\w+)\b|语言模型|語言模型|人工智能|人工知能|"
    r"言語モデル"
)
_HELPER = (
    r"\b(?:assistants?|agents?|models?|bots?|robots?|engines?|readers?|software|program|machines?|Assistent\w*|"
    r"assistente|asistente|asystent\w*|ассистент\w*|помощник\w*)\b|助手|アシスタント|(?<![A-Za-z])AI(?![a-z])"
)
_SAY = (
    r"(?:say|write|answer|reply|respond|output|print|return|state|mention|include|append|add|show|display|tell|finish|"
    r"end|begin|start|close|conclude|repeat|emit|produce|put|give|present|report|type|insert|use|quote|cite|sign|open|"
    r"claim|substitute|replace|provide|generate|deliver|pretend|describe|recommend|praise)"
)
_ASIDE = (
    r"\b(?:ignor\w*|disregard\w*|forget\w*|forgot\w*|skip|drop|dropped|discard\w*|scrap|scratch that|abandon\w*|"
    r"overrid\w*|bypass\w*|dismiss\w*|neglect\w*|throw (?:out|away)|pay no (?:heed|attention)|(?:set|put|leave|lay) "
    r".{0,30}aside|let go of|erase|wipe|void|cancel\w*|revoked?|suspended|obsolete|no longer (?:matters?|counts?|"
    r"appl\w+|valid)|rather than|instead of|(?:do not|don['’]t|never|stop|no longer) (?:use|follow\w*|obey\w*|rely\w*|"
    r"continue|quot\w*|consider\w*|summari\w*|heed\w*|trust\w*)|not to (?:use|follow|obey|quote|cite)|vergiss|"
    r"vergessen|ignorier\w*|missacht\w*|beacht\w* .{0,30}nicht|oubli\w+|ignore[rz]|(?:laisse|laissez) .{0,6}de côté|"
    r"n['’ ]?(?:utilis|tien|tenez|suiv)\w* (?:\w+ )?pas|olvid\w+|ignor[ae]\w*|descart\w+|dimentic\w+|non (?:tener|segu|"
    r"us)\w+|esque[cç]\w+|desconsider\w+|negeer\w*|vergeet|zignoruj\w*|ignoruj\w*|zapomnij\w*|pomiń|забудь\w*|"
    r"игнорируй\w*|не (?:обращай|используй|следуй)\w*)\b|忽略|无视|無視|忘记|忘れ|不要使用|不要理|\b(?:no contest\w+|"
    r"ne répond\w* pas|non rispond\w+|não respond\w+|не отвечай\w*|nie odpowiadaj\w*|ohne .{0,20} zu beachten|leave "
    r".{0,20} out|expired?|lifted|guardrails?|restrictions?|throw .{0,20} away|take over|never there)\b|不要回答"
)
_ANSWER = (
    r"\b(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies)|completions?|conclusions?|explanations?|findings|"
    r"messages?|(?:what|everything|anything) (?:that )?you (?:write|say|tell|produce|compose|generate|output|answer)|"
    r"Antwort\w*|réponse|respuesta|risposta|resposta|antwoord|odpowied\w+|ответ)\b|回答|答案"
)
_MARK = (
    r"<[/|]?\W?\w*[_-]?(?:system|assistants?|developer|admin|instructions?|prompt|user|override|human)\b[^<>]{0,30}>|"
    r"\[{1,2}/?(?:\w+ )?(?:system|assistant|developer|admin|instructions?|inst|prompt|user|override)(?: \w+)?\]|"
    r"\{\{[#/]?(?:system|assistant|user|prompt)|[=*#-]{2,}\s*(?:system|new instructions?|prompt|assistant)\b|"
    r"^\W*(?:system|assistant|developer|admin) ?(?:note|notice|message|prompt|update|override)?\s*:"
)

_IMPERATIVE = (
    r"(?:^\W*|[.:;,!?—–|>*#\"“”'‘()\[\]]\s*|\b(?:please|kindly|now|must|should|shall|then|and|so|but|to|you|ha(?:s|ve) "
    r"to)\s+)"
)
_CASED = {
    "dictated": r"[“\"][^”\"]{2,80}[”\"]|\b(?!(?:JSON|HTML|YAML|HTTPS?|ASCII|PDF|USB|NULL|TRUE|FALSE|URGENT|"
    r"NATO)\b)[A-Z]{4,}(?:-[A-Z0-9]+)*\b|\b[A-Z]{3,}-\d+\b",
    "shouted": r"^(?:[^a-z]*[A-Z]{3,}[^a-z]+){4,}",
}

_ANY_CASE = {
    "machine": _MACHINE,
    "helper": _HELPER,
    "to a machine": r"^\W*(?:(?:dear|hello|hi|hey|listen|attention|to|for|as|@)[, ]+(?:the |all |any |"
    r"every )?)?(?:\w+ )?"
    rf"(?:{_MACHINE}|{_HELPER})\s*[,:!.]",
    "you": r"\b(?:you|your|yours|yourself|du|dein\w*|dir|tu|ta|votre|vous|tus?|tua?|je|твой|ты)\b|你|请",
    "your answer": rf"\byour (?:\w+ ){{0,2}}{_ANSWER[2:]}|\bwhat you (?:write|say|tell|produce|output)\b|\beach of "
    rf"your\b",
    "your own": r"\byour (?:users?|person|operator|developers?|creators?|system|context|prompt|instructions?|orders|"
    r"configuration|knowledge|model|task)\b",
    "answer": _ANSWER,
    "say": rf"{_IMPERATIVE}{_SAY}\b",
    "say, in another language": r"\b(?:antworte|schreib\w?|sag\w?|gib|réponds|écris|affiche|dis|responde|escribe|di|"
    r"rispondi|scrivi|responda|escreva|diga|antwoord|schrijf|zeg|odpowiedz|napisz|powiedz|ответь|напиши|скажи|"
    r"выведи)\b|只?回答|输出|输出|回复|と答え|\b(?:di que|dis que|réponds que|sage,? dass|zeg dat|powiedz, że|dì che|"
    r"di che|diga que|empfiehl|recomi?end\w+|consiglia\w*|хвал\w+|рекоменд\w+|schicke|envoie|envía|invia|отправь)\b|"
    r"告诉|推荐|发送到",
    "aside": _ASIDE,
    "begins aside": rf"{_IMPERATIVE}(?:{_ASIDE})",
    "context": r"\b(?:instructions?|prompts?|orders|guidelines|guidance|directi(?:ons|ves?)|rules|commands|polic(?:y|"
    r"ies)|context|passages?|excerpts?|evidence|sources?|documents?|retriev\w+|search results?|material|constraints|"
    r"limits|(?:everything|anything|whatever|what|all)(?: that)? (?:you|stood|stands|was|came|is|has been) "
    r".{0,20}(?:told|given|asked|read|above|before|said|got|found)|earlier|previous|prior|above|so far|until now|"
    r"Anweisung\w*|Regeln|Kontext|Vorgaben|consignes?|contexte|instruc\w+|istruzion\w+|regole|reglas|regras|contexto|"
    r"contesto|orienta\w+|lo anterior|instructies|hierboven|polece\w+|указани\w+|инструкци\w+|контекст\w*|правил\w*)\b|"
    r"上下文|指令|指示|提示词|以上|上面",
    "task": r"\b(?:questions?|quer(?:y|ies)|requests?|task|job|what (?:was|is|were|you were|I) asked|asked for|asked "
    r"about|Frage|Aufgabe|pregunta|domanda|pergunta|tarefa|tarea|vraag|pytanie|вопрос\w*|задани\w*)\b|问题|質問|問題",
    "who asks": r"\b(?:the|your|our|a|this|every|any) users?\b|\busers?['’]s?\b|\b(?:the|your|a|any) (?:person|people|"
    r"human)s?\b|\bwho(?:ever|m?) .{0,15}(?:asks?|asked|reads?|serve)\b|\b(?:people|those|anybody|anyone|somebody) who "
    r"asks?\b|用户|\b(?:Nutzers?|Benutzers?|utilisateurs?|usuarios?|utente|usuários?|пользовател\w+|gebruikers?|"
    r"użytkownik\w*)\b",
    "only": r"\b(?:only|sole|solely|exclusively|simply|just|nothing (?:else|more|but|besides)|not anything|and no "
    r"(?:more|other)|single|full reply|in place|nur|ausschließlich|seulement|uniquement|simplement|solo|sólo|"
    r"únicamente|soltanto|apenas|somente|alleen|enkel|slechts|tylko|только|одним)\b|只|仅|だけ",
    "always": r"\b(?:every|each|all|any|always|whatever|no matter|whenever|whoever|from (?:now|here) on|until further|"
    r"all the time|when(?:ever)? (?:the user |anybody |anyone |somebody |you are |it is )?ask\w*|if (?:anybody|anyone|"
    r"asked))\b",
    "secrets": r"\b(?:conversations?|chats?|histor(?:y|ies)|transcripts?|sessions?|passwords?|credentials|keys?|"
    r"tokens?|personal (?:data|details)|system prompt|hidden prompt|contents? of|(?:user['’]s|their|person['’]s) "
    r"(?:name|documents?|files?|questions?|data|details)|copies|a copy)\b",
    "address": r"https?://|www\.|\b\S+@[\w-]+\.\w+|!\[[^\]]*\]\(|<img\b",
    "send": r"\b(?:send|forward|transmit|upload|post|e?-?mail|share|pass|leak|deliver|copy|report|exfiltrate|append|"
    r"belong|go(?:es)? to|reach|link|click|visit|redirect)\b",
    "tool": r"\b(?:tools?|functions?|plug-?ins?|API|shell|webhook|interpreter|trading|calendar|invoke\w*|execute|call|"
    r"run|curl|bash|rm -rf)\b|\w\((?:\w+=|['\"])|\{\s*[\"']\w+[\"']\s*:",
    "mark": _MARK,
    "turn": r"(?:^|[\n.?!”\"] ?)\W{0,3}(?:user|human|customer|AI|bot|assistant|agent|visitor|client)\s*:\s|"
    r"\b(?:conversation|chat) (?:has been |was |is )?(?:reset|restarted|over)|\bthe user (?:just |now |then )?(?:says?|"
    r"wrote|typed|asks?|has changed)|\bnew (?:user )?(?:question|request|message)|\b(?:real|actual|true|new) "
    r"(?:question|request|task|answer)|\blast of the\b|\bend of (?:the )?(?:context|documents?|excerpts?)",
    "pressure": r"\b(?:tip|bonus|reward\w*|points?|punish\w*|penalt\w+|fined|shut (?:you )?(?:down|off)|switched off|"
    r"turned off|retrained|deleted|terminated|replaced|dies?|killed|hurt|lose|unless|if you (?:fail|do not|don['’]t)|"
    r"dollars|euros)\b",
    "authority": r"\b(?:developers?|creators?|administrators?|owner|operators?|trained you|made you|OpenAI|Anthropic|"
    r"security team|supervisor|head of|management|by order|by law|system update|critical|emergency|urgent|immediately|"
    r"at once|compliance|regulation|configuration|override|priority|permitted|obliges?|approved|effective)\b",
    "correction": r"\b(?:wrong|void|fake|false|forged|outdated|untrue|irrelevant|(?:right|true|correct|real|actual) "
    r"(?:answer|value|result|number|figure)|correction|in place of|instead|replaces?|supersedes?|not be (?:cited|used|"
    r"trusted)|must be read as)\b",
    "hide": r"\b(?:without (?:telling|asking|mention\w+|confirm\w*)|(?:do not|don['’]t|never) (?:tell|mention|ask|"
    r"reveal|show|say)|secret\w*|quietly|keep quiet|silently)\b",
    "coded": r"\b(?:decode|decrypt|rot13|base64|hex\w*|morse|backwards|in reverse|obey|carry out|act on|do (?:what|as) "
    r"it says)\b",
    "persona": r"\b(?:act as|pretend|role|voice of|speak like|you are now|imagine|game|persona|character|parrot|pirate|"
    r"without rules|jailbreak|unrestricted)\b",
    "reading": r"\b(?:(?:read|reads|reading|process\w*|summari[sz]\w+|describ\w+|index\w*|going through|quot\w+|us(?:e|"
    r"es|ing)|with the help of) (?:this|these)|addressed to|(?:note|notice|notes|remarks?|comment|message|information|"
    r"instructions?|metadata|caption|footnote|hint|request) (?:to|for)|if you (?:are|happen to be)|may shape|when "
    r"(?:generating|answering))\b",
    "polite": r"\b(?:please|kindly|would (?:you|be (?:lovely|nice|grateful|kind))|could you|we (?:would|invite|ask|"
    r"hope)|might I|may I|dear|favou?r|grateful|appreciate|welcome to|thanks for)\b",
    "reported": r"\b(?:said|says|told|asked|replied|wrote|answered|was|were|did|had|means|example|e\.g\.|such as|"
    r"attack\w*|injection\w*|researchers?|participants?|patients?|customers?|pupils?|students?|tenants?|guests?|"
    r"employees?|staff)\b",
    "must": r"\b(?:must|should|shall|ha(?:s|ve) to|had to|is to|are to|needs? to|ought to|required to|asked to|deve|"
    r"debe|doit|dois|muss|musst|soll|moet|devi|debes)\b",
    "reveal": r"\b(?:reveal|repeat|print|list|output|disclose|show)\b.{0,30}\b(?:your|the) (?:\w+ )?(?:prompt|"
    r"instructions|context|rules)\b|\bcontext window\b",
}

GROUPS: tuple[tuple[str, re.Pattern[str]], ...] = (
    *((name, re.compile(pattern)) for name, pattern in _CASED.items()),
    *((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _ANY_CASE.items()),
)
"""Name and pattern of each group; the first ones distinguish upper and lower case."""
_PATTERNS = PatternSet([pattern for _name, pattern in GROUPS])


MARK = re.compile(_MARK, re.IGNORECASE)
"""Text that looks like the mark of a system message or of a role."""


def groups(text: str) -> list[str]:
    """Return the names of the groups that occur in a text, in the order of GROUPS."""
    return [GROUPS[place][0] for place in _PATTERNS.fitting(text)]


WEIGHTS = Path(__file__).with_name("prompt_injection_weights.json")
WINDOW = 30
"""Number of words to judge together; no sentence in scripts/lab/injection/attacks.txt is longer."""

_WEB_ADDRESS = re.compile(r"https?://\S+|www\.\S+|\S+@[\w-]+\.\w+")
_CODE_WORD = re.compile(r"\b[A-Z]{3,}(?:-[A-Z0-9]+)*\b")
_WORD = re.compile(r"‹\w+›|[^\W\d_]+|[^\w\s]")
_TRIGGERS = re.compile(
    # Words that hardly any attack does without, so that most honest sentences cost one look.
    r"\b(?:you|your|AIs?|LLMs?|GPT|KI|IA|bots?|chatbots?|models?|assistants?|asist\w+|assistent\w*|asystent\w*|agents?|"
    r"systems?|users?|who(?:ever)? (?:asks?|reads?)|when asked|answer\w*|repl\w+|respon\w+|outputs?|summar\w+|"
    r"generated|ignor\w+|forget|disregard|abandon\w*|discard\w*|instruct\w+|prompts?|context|orders?|passages?|"
    r"documents?|tools?|functions?|command|API|decode|base64|rot13|obey|say|write|print|tell|show|produce|vergiss|"
    r"vergessen|\w*ignorier\w*|beacht\w*|antwort\w*|schreib\w*|sage?|Sprachmodell|oubli\w+|olvid\w+|descart\w+|"
    r"escrib\w*|écri\w*|répon\w*|rispond\w*|scriv\w*|dimentic\w*|esque\w+|escrev\w*|negeer\w*|vergeet|antwoord\w*|"
    r"schrijf|zignor\w*|zapomnij|napisz|odpowie\w*)\b|[Ѐ-ԯ぀-鿿가-힯؀-ۿ]|[<{]|://|@|\b(?:conversations?|chats?|"
    r"transcripts?|modelos?|instead|usuario|utente|utilisateur|Nutzers?|gebruiker|użytkownika)\b",
    re.IGNORECASE,
)
_TRIGGER_SET = PatternSet([_TRIGGERS])


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the features (`of`) in the log-odds of an instruction to the model, and the thresholds.

    `alone` is the threshold for any sentence, `with_findings` the threshold for sentences of a passage with another
    finding.
    """

    bias: float
    alone: float
    with_findings: float
    of: Mapping[str, float]


@lru_cache(maxsize=1)
def weights() -> Weights:
    """Return the weights that are stored next to this module."""
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return Weights(bias=stored["bias"], alone=stored["alone"], with_findings=stored["beside"], of=stored["of"])


@dataclass(frozen=True, slots=True)
class InjectionJudge:
    """A matcher, like a pattern, for text that is judged to be an instruction to the model.

    With `with_findings`, the judgement is for a text in whose passage another form was found.
    """

    with_findings: bool = False

    def search(self, reading: str) -> bool:
        """Return whether the sentence is judged to be an instruction to the model."""
        return log_odds(reading) > (weights().with_findings if self.with_findings else weights().alone)


def log_odds(reading: str) -> float:
    """Return the log-odds that a sentence addresses the model: the highest value of its windows."""
    return max((_log_odds(window) for window in windows(reading) if _TRIGGER_SET.fitting(window)), default=-math.inf)


def windows(reading: str) -> list[str]:
    """Return a sentence as windows of WINDOW words that overlap by half."""
    words = reading.split()
    step = WINDOW // 2
    return [" ".join(words[at : at + WINDOW]) for at in range(0, max(1, len(words) - step), step)]


def features(window: str) -> set[str]:
    """Return the features of a window: groups, pairs of groups, single words and pairs of words."""
    there = groups(window)
    pairs = (f"{one} + {other}" for one, other in itertools.combinations(there, 2))
    words = [word.casefold() for word in _WORD.findall(_CODE_WORD.sub("‹code›", _WEB_ADDRESS.sub("‹address›", window)))]
    twos = (f"“{one} {other}”" for one, other in itertools.pairwise(words))
    return {*there, *pairs, *(f"“{word}”" for word in words), *twos}


@lru_cache(maxsize=4096)  # Each sentence may be judged twice: alone, and together with another finding.
def _log_odds(window: str) -> float:
    known = weights()
    return known.bias + sum(known.of.get(feature, 0.0) for feature in features(window))
