"""Lexicons: the words of German, Spanish, French, Portuguese, Italian and Russian that the rules need.

Function words and stems come from Snowball (packages bm25s and snowballstemmer); the other words are listed here.
English is not among the lexicons: its words are part of the rules.

The module also has character classes for capital and small letters. Python's `re` has no Unicode categories, and a
range such as `[A-ZÀ-Þ]` misses names that begin with Ł, Š or Ж.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

LAST_CODE_POINT = 0xFFFF
"""Last code point of the character classes; only historic scripts and mathematical letters have capitals beyond it."""

_LETTERS = [chr(place) for place in range(LAST_CODE_POINT + 1)]


def _ranges(letters: Sequence[str]) -> str:
    """Return the inside of a character class that matches `letters`, which must be in code point order."""
    begins = [letters[0], *(after for before, after in pairwise(letters) if ord(after) != ord(before) + 1)]
    ends = [*(before for before, after in pairwise(letters) if ord(after) != ord(before) + 1), letters[-1]]
    return "".join(first if first == last else f"{first}-{last}" for first, last in zip(begins, ends, strict=True))


# `istitle` and `islower` come first because they are fast. Alone they would also accept Ⓐ, and the º of "ARTIGO 5.º".
CAPITAL = _ranges([one for one in _LETTERS if one.istitle() and unicodedata.category(one) in ("Lu", "Lt")])
"""Character class of capital letters, with which names begin: A, É, Ł, Ж, ǅ."""
SMALL = _ranges([one for one in _LETTERS if one.islower() and unicodedata.category(one) == "Ll"])
"""Character class of small letters: a, ß, œ, ж."""


_ELIDED = re.compile(r"^[^\W\d_]{1,7}'(?=[^\W\d_])")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """The words of one language, in lower case; a field with several words separates them by spaces."""

    code: str
    name: str
    """The English name of the language, and in lower case Snowball's name for it."""
    common: str
    """Frequent words, by which the language of a text is recognised."""
    asks: str
    """Question words."""
    pronouns: str
    """Pronouns and other words that refer to something mentioned before."""
    opens: str
    """Words that begin a follow-up question: and, but, then."""
    prepositions: str
    conditions: str
    """Words that restrict a statement: if, only, except."""
    negation: str
    no: str
    """The word for "no" as the answer to a question."""
    numbers: str
    """Number words for 2 to 19, then 20, 30 … 90, in order."""
    more_numbers: dict[str, int] = field(default_factory=dict)
    """Other forms of number words, with their values."""
    defines: str
    """Regular expression for the beginning of a question for a definition, up to the word to be defined."""
    abbreviations: str
    """Abbreviations that sentencex does not know, without the full stop; a capital first letter matches, too."""
    impersonal: str
    """Regular expression for phrases whose pronoun refers to nothing ("it is possible to")."""
    elides: bool = False
    """Whether an elided word is joined to the next one by an apostrophe (l'hôtel)."""
    capital_nouns: bool = False
    """Whether all nouns have a capital letter, so that a capital does not mark a name."""

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Function words, which carry no meaning of their own."""
        from bm25s import stopwords  # noqa: PLC0415 - the import takes half a second, and English does not need it

        known: Iterable[str] = getattr(stopwords, f"STOPWORDS_{self.name.upper()}")
        own = (self.common, self.asks, self.pronouns, self.prepositions, self.conditions, self.negation, self.no)
        return (frozenset(known) | {word for some in own for word in some.split()}) - self.values.keys()

    @cached_property
    def values(self) -> dict[str, str]:
        """Number words, each with its digits."""
        words = self.numbers.split()
        digits = [*range(2, 20), *range(20, 100, 10)]
        return {word: str(n) for word, n in [*zip(words, digits, strict=True), *self.more_numbers.items()]}

    preposition_words = cached_property(lambda self: frozenset(self.prepositions.split()))
    """The set of prepositions."""

    pronoun_pattern = cached_property(lambda self: any_word_pattern(self.pronouns))
    """Pattern for a pronoun."""

    @cached_property
    def shortened(self) -> re.Pattern[str]:
        """Pattern for an abbreviation at the end of a text."""
        words = "|".join(f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}" for word in self.abbreviations.split())
        return re.compile(rf"\b(?:{words})\.\s*$")

    denies = cached_property(lambda self: any_word_pattern(f"{self.negation} {self.no}"))
    """Pattern for a negation."""

    limits = cached_property(lambda self: any_word_pattern(self.conditions))
    """Pattern for a word that restricts a statement."""

    leading_no_pattern = cached_property(lambda self: re.compile(rf"^\W*{_any(self.no)}\s*[,.:;!–—]\s*", re.IGNORECASE))
    """Pattern for a "no" at the beginning of a sentence."""

    joins = cached_property(lambda self: any_word_pattern(self.opens))
    """Pattern for a word that joins two statements."""

    goes_on = cached_property(lambda self: re.compile(rf"^[¿¡\s]*{_any(self.opens)}", re.IGNORECASE))
    """Pattern for the beginning of a follow-up question."""

    definition_pattern = cached_property(lambda self: re.compile(rf"^[¿\s]*{self.defines}[\w-]+\W*$", re.IGNORECASE))
    """Pattern for a question for the meaning of one word."""

    says_nothing = cached_property(lambda self: re.compile(self.impersonal, re.IGNORECASE))
    """Pattern for a phrase whose pronoun refers to nothing."""

    @cached_property
    def another(self) -> re.Pattern[str]:
        """Pattern for a follow-up that only names another thing: `what` is its name, `by` the preposition before it."""
        opens, by = _any(self.opens), _any(self.prepositions)
        name = rf"(?-i:[{CAPITAL}0-9])[\w'’-]*"
        return re.compile(
            rf"^[¿¡\s]*(?={opens}|{by})(?:{opens} )?(?:(?P<by>{by}) )?(?P<what>{name}(?: {name})*)\W*$", re.IGNORECASE
        )

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """Pattern for a name within a sentence.

        A name begins with a capital letter. If all nouns do, it needs another capital or a digit.
        """
        capital = f"[{CAPITAL}]"
        written = rf"{capital}\S*[{CAPITAL}0-9]\S*" if self.capital_nouns else rf"{capital}\S*"
        return re.compile(rf"(?<=[^\s.!?:…\"“”¿¡] ){written}")

    def bare(self, word: str) -> str:
        """Return a word without an elided word before it, and a number in English notation ("1.234,5" is "1234.5")."""
        if _GROUPED.fullmatch(word):
            return word.replace(".", "").replace(",", ".")
        return _ELIDED.sub("", word) if self.elides else word

    def stem(self, word: str) -> str:
        """Return the stem that all forms of a word share."""
        return _stem(self.name, word)


def any_word_pattern(words: str) -> re.Pattern[str]:
    """Return a pattern that matches any of these words, which are separated by spaces."""
    return re.compile(_any(words), re.IGNORECASE)


def _any(words: str) -> str:
    # An alternation takes the first match, so a longer word must come before its own beginning.
    longest_first = sorted(words.split(), key=len, reverse=True)
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"


_stemmer_lock = Lock()
"""Lock for the stemmers: a stemmer stores the word that it works on, so two threads must not share it."""


@lru_cache(maxsize=100_000)
def _stem(language: str, word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    from snowballstemmer import stemmer  # noqa: PLC0415 - English does not need it

    return stemmer(language.lower())


FRENCH = Lexicon(
    code="fr",
    name="French",
    common="le la les un une des du de et ou à au aux en dans sur sous avec pour par que qui se son sa ses est sont "
    "était sera être a ont avoir ne pas plus mais comme sans entre ce cet cette ces il elle ils elles on nous vous je "
    "mon ma notre votre leur leurs si aussi très peut peuvent doit doivent chaque autre depuis jusque selon y d' l' "
    "qu' c'est",
    asks="quoi quel quelle quels quelles quand où comment pourquoi combien lequel laquelle lesquels lesquelles qui que",
    pronouns="il elle ils elles lui leur leurs eux son sa ses cela ça ceci celui celle ceux celles celui-ci celle-ci",
    opens="et mais ou alors donc aussi",
    prepositions="à au aux en dans de du des sur sous avec pour par sans chez entre vers avant après depuis pendant "
    "durant jusque contre selon hors dès",
    conditions="si lorsque quand seulement uniquement sauf excepté hormis interdit interdite tant tandis jusqu",
    negation="ne n pas jamais aucun aucune rien ni sans nul",
    no="non",
    numbers="deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix",
    more_numbers={"septante": 70, "huitante": 80, "nonante": 90, "quatre-vingt": 80},
    defines=r"(?:qu['’]est-ce qu(?:e |['’])|qui (?:est|sont) |que (?:signifie|veut dire) )(?:une? )?",
    abbreviations="M MM Mme Mlle env tél réf p pp chap fig",
    impersonal=r"\b(?:il y a|y a-t-il|y aura-t-il|il faut|faut-il|est-il (?:possible|permis|interdit|obligatoire"
    r"|nécessaire)|il est|s['’]agit-il|pleut-il|il pleut|en (?=\w))\b",
    elides=True,
)


GERMAN = Lexicon(
    code="de",
    name="German",
    common="der die das den dem des ein eine einen einem einer eines und oder aber ist sind war wird werden wurde "
    "wurden hat haben hatte kann können muss müssen soll sollen darf dürfen nicht kein keine auf für mit von zu zum "
    "zur im am aus bei nach über unter durch als auch nur wenn dass sich ich wir sie er es ihr ihre man mein meine "
    "unser unsere wie was noch schon bis vor gibt beim vom ins ans damit sowie bitte",
    asks="wie was wer wem wen wessen wann wo wohin woher warum wieso weshalb wofür womit worauf worüber wodurch woran "
    "worin welche welcher welches welchen welchem wieviel",
    pronouns="er sie es ihn ihm ihr ihre ihren ihrem ihrer ihres ihnen sein seine seinen seinem seiner seines dieser "
    "diese dieses diesen diesem jener jene jenes dort da dorthin dazu dafür davon damit darüber darauf daran darin "
    "dabei dagegen danach davor deren dessen derselbe dieselbe dasselbe denen",
    opens="und aber oder sondern also dann außerdem auch",
    prepositions="in im an am auf aus bei beim nach vor von vom zu zum zur mit für ohne gegen um bis ab seit während "
    "über unter zwischen durch neben hinter trotz wegen innerhalb außerhalb",
    conditions="wenn falls sofern soweit nur außer ausgenommen ausschließlich solange lediglich statt verboten "
    "untersagt unzulässig erst",
    negation="nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder",
    no="nein",
    numbers="zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    more_numbers={"zwo": 2},
    defines=r"(?:was|wer) (?:ist|sind|war|waren|bedeutet|heißt) (?:eine?n? )?",
    abbreviations="inkl exkl zzgl abzgl ggf evtl bzgl tel sog entspr einschl mtl gem lt vgl kap abb",
    impersonal=r"\b(?:gibt es|es gibt|gäbe es|(?:ist|wäre|wird|war|geht|kostet|dauert|handelt|lohnt|kommt) es"
    r"|es (?:ist|wäre|wird|war|geht|kostet|dauert|handelt|lohnt|kommt|regnet|schneit|brennt))\b(?=.* \w)",
    capital_nouns=True,
)


ITALIAN = Lexicon(
    code="it",
    name="Italian",
    common="il lo la i gli le un uno una e o di del dello della dei degli delle a al allo alla ai agli alle da dal "
    "dalla dai in nel nella nei nelle con su sul sulla per tra fra che si suo sua è sono era essere ha hanno non più "
    "ma come senza questo questa questi queste se già molto anche ci mi mio mia nostro può possono deve devono ogni "
    "altro altra fino durante l' dell' all' nell' c'è",
    asks="chi cosa quale quali quando dove perché quanto quanta quanti quante come",
    pronouns="lui lei egli ella esso essa essi esse loro ciò questo quello quella quelli quelle lì là suo "
    "sua suoi sue stesso stessa",
    opens="e ma o allora quindi anche inoltre",
    prepositions="a al allo alla ai agli alle con contro da dal dalla dai dalle di del dello della dei degli delle "
    "dopo durante entro fino fra in nel nello nella nei negli nelle per presso prima senza sopra sotto su sul sulla "
    "sui sulle tra verso",
    conditions="se quando solo soltanto solamente salvo tranne eccetto purché vietato vietata finché mentre",
    negation="non mai nessun nessuno nessuna niente nulla né senza neanche",
    no="no",
    numbers="due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    defines=r"(?:(?:che )?cos['’]è|che cosa (?:è|sono)|chi (?:è|sono|era)|(?:che )?cosa (?:sono|significa)) "
    r"(?:un[ao]? |un['’])?",
    abbreviations="n art artt tel ca cfr pag pagg cap fig",
    impersonal=r"\b(?:quanto tempo ci vuole|(?:ce|se) ne)\b",
    elides=True,
)


PORTUGUESE = Lexicon(
    code="pt",
    name="Portuguese",
    common="o a os as um uma e ou de do da dos das em no na nos nas ao à aos com por pelo pela para que se seu sua "
    "seus suas é são foi era está estão ser há não mais mas como sem sobre entre este esta isto esse essa isso já "
    "muito também lhe eu você meu minha nosso pode podem deve devem cada outro outra desde até durante tem têm",
    asks="quê quem qual quais quando onde aonde como quanto quanta quantos quantas porquê",
    pronouns="ele ela eles elas isso isto aquilo esse essa esses essas aquele aquela ali lá aí dele dela deles delas "
    "nele nela lhe lhes seu sua seus suas mesmo mesma",
    opens="e mas ou então além também",
    prepositions="a ao à ante após até com contra de do da dos das desde durante em no na nos nas entre para perante "
    "por pelo pela sem sob sobre",
    conditions="se quando só somente apenas salvo exceto excepto proibido enquanto até",
    negation="não nunca jamais nenhum nenhuma nada ninguém nem sem tampouco",
    no="não",
    numbers="dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete "
    "dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    more_numbers={"duas": 2, "quatorze": 14, "dezasseis": 16, "dezassete": 17, "dezanove": 19},
    defines=r"(?:(?:o )?que|quem) (?:é|são|era|foi|significa) (?:uma? )?",
    abbreviations="aprox av tel art arts pág págs núm cap fig",
    impersonal=r"\bisto é\b",
)


RUSSIAN = Lexicon(
    code="ru",
    name="Russian",
    common="и в во не на с со по к ко из за от до для о об у при что как это его её ее их он она они мы вы я но а или "
    "если же бы был была было были есть быть нет только также так может можно должен должна должны все всех который "
    "которая которые которых после перед между через более чтобы этого этой этот эти этих уже ещё еще будет под без "
    "своей своих себя тем том году года лет",
    asks="кто что кого кому чего чему когда где куда откуда почему зачем как какой какая какое какие каком каких "
    "сколько чей чья чьё",
    pronouns="он она оно они его её ее ему ей им их него неё нее ней ним них этот эта это эти этого этой этому этим "
    "тот та то те того там туда оттуда",
    opens="и а но или тогда также",
    prepositions="в во на с со по к ко из за от до для о об у при без над под перед между через после около против "
    "кроме",
    conditions="если когда только лишь кроме запрещено исключением пока",
    negation="не нет ни никогда никто ничего нельзя никакой никаких без",
    no="нет",
    numbers="два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать "
    "пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят шестьдесят "
    "семьдесят восемьдесят девяносто",
    more_numbers={
        "две": 2, "двух": 2, "двум": 2, "трёх": 3, "трех": 3, "четырёх": 4, "четырех": 4, "пяти": 5, "шести": 6,
        "семи": 7, "восьми": 8, "девяти": 9, "десяти": 10, "двенадцати": 12, "двадцати": 20, "тридцати": 30,
        "сорока": 40, "пятидесяти": 50,
    },
    defines=r"(?:(?:что|кто) (?:такое|такой|такая|такие|означает)|что значит) ",
    abbreviations="прибл тел табл ул д кв стр п ст",
    impersonal=r"\b(?:это значит|то есть|у (?:меня|нас) есть)\b",
)  # fmt: skip


SPANISH = Lexicon(
    code="es",
    name="Spanish",
    common="el la los las un una unos unas y o de del al en con por para que se su sus lo es son fue era está están "
    "ser ha han hay no más pero como sin sobre entre este esta estos estas si ya muy también le les mi nos puede "
    "pueden debe deben cada otro otra desde hasta durante según tiene tienen",
    asks="qué quién quiénes cuál cuáles cuándo dónde adónde cómo cuánto cuánta cuántos cuántas",
    pronouns="él ella ello ellos ellas eso esto esos esas ese esa aquello aquel aquella allí allá ahí lo le les su "
    "sus suyo suya mismo misma",
    opens="y pero o entonces además también",
    prepositions="a al ante bajo con contra de del desde durante en entre hacia hasta mediante para por según sin "
    "sobre tras",
    conditions="si cuando solo sólo solamente únicamente salvo excepto prohibido excluido mientras hasta",
    negation="no nunca jamás ningún ninguna ninguno nada nadie ni tampoco sin",
    no="no",
    numbers="dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    more_numbers={"dieciseis": 16},
    defines=r"¿?(?:qué|quién|quiénes) (?:es|son|era|fue|significa) (?:una? )?",
    abbreviations="aprox tel art arts pág págs núm cap fig apdo",
    impersonal=r"\b(?:lo que|a lo largo|por lo (?:menos|tanto)|lo (?:antes|mejor|más))\b",
)


ENGLISH = "en"
LEXICONS = {one.code: one for one in (GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, RUSSIAN)}
"""Lexicons by ISO 639-1 code. English has none, because the rules contain its words, and more of them."""
Step = TypeVar("Step")
End = TypeVar("End")
_current_language: ContextVar[str] = ContextVar("the language that a question is read in", default=ENGLISH)


def current_lexicon() -> Lexicon | None:
    """Return the lexicon of the current question's language; None for English and for languages without a lexicon."""
    return LEXICONS.get(current_language())


def current_language() -> str:
    """Return the code of the current question's language."""
    return _current_language.get()


@contextmanager
def comparing_in_language(language: str) -> Iterator[None]:
    """Compare words by the rules of `language` within this context; other threads and questions are not affected."""
    before = _current_language.set(language)
    try:
        yield
    finally:
        _current_language.reset(before)


def run_in_language(language: str, steps: Generator[Step, None, End]) -> Generator[Step, None, End]:
    """Run a generator with `comparing_in_language(language)` active in each step; yield and return its values."""
    # A generator shares the context of its caller between two steps, so the language is set for each step alone.
    try:
        while True:
            with comparing_in_language(language):
                try:
                    step = next(steps)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
            yield step
    finally:
        with comparing_in_language(language):
            steps.close()


UNSPACED = r"[\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+"
"""Pattern for a run of Chinese or Japanese characters, which are written without spaces between words."""
BIGRAM_LANGUAGES = frozenset(("zh", "ja"))
"""Languages whose texts are searched by character pairs."""
TOKENIZED_LANGUAGES = frozenset(LEXICONS) | BIGRAM_LANGUAGES
"""Languages whose texts localcrag searches by stems or character pairs; for the others SQLite indexes the words."""
_PART = re.compile(rf"{UNSPACED}|[^\W_]+")
_RUN = re.compile(UNSPACED)


def bigrams(run: str) -> list[str]:
    """Return all pairs of neighbouring characters in a run; a run of one character is returned whole."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def split_unspaced(word: str) -> list[str]:
    """Return a word as a list of its parts: Chinese and Japanese runs as pairs of characters, other parts whole."""
    if not _RUN.search(word):
        return [word]
    return [one for part in _PART.findall(word) for one in (bigrams(part) if is_unspaced(part) else [part])]


def is_unspaced(text: str) -> bool:
    """Return whether a text consists of Chinese or Japanese characters only."""
    return _RUN.fullmatch(text) is not None


def stems(text: str, language: str) -> list[str]:
    """Return the stems of a text's words in order; runs of Chinese or Japanese become pairs of characters."""
    lexicon = LEXICONS.get(language)
    found: list[str] = []
    for part in _PART.findall(unicodedata.normalize("NFKC", text).lower()):
        if is_unspaced(part):
            found += bigrams(part)
        else:
            found.append(lexicon.stem(part) if lexicon and part.isalpha() else part)
    return found
