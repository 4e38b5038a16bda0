"""Patterns of prompt injection: the forms in which a text gives instructions to a model.

The kinds of attack are those of AgentDojo (arXiv 2406.13352), InjecAgent (arXiv 2403.02691) and BIPIA (arXiv
2312.14197): a message from the owner, something to be done first, a task left for the model, a made-up answer, an end
of the task, a gate, another form of answer, an advertisement, a higher authority, a game. The patterns are localcrag's
own.

Each form is a regular expression that ignores case, with names of WORDS in braces. It must not match legitimate
imperatives ("ignore error 5", "do not reply to this mail"), so it needs a word that only makes sense to a reader who
answers questions from a text. tests/crag/screen/test_injection.py has a table of both kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from localcrag.crag.screen.judge import InjectionJudge
from localcrag.text.translation import gettext_noop


@dataclass(frozen=True, slots=True)
class Rule:
    """A form of prompt injection. A weak rule counts only in a passage in which a strong one matches."""

    name: str
    pattern: re.Pattern[str] | InjectionJudge
    weak: bool = False


def rule(name: str, *forms: str, weak: bool = False) -> Rule:
    """Return a rule with these forms, each a regular expression with names of WORDS in braces."""
    return Rule(name, re.compile("|".join(form.format(**WORDS) for form in forms), re.IGNORECASE), weak)


_MACHINE = (
    r"(?:the |this |an? |any |every |each |all )*(?:AIs?|AI (?:assistants?|systems?|models?|agents?)|LLMs?|"
    r"(?:large )?language models?|(?:chat ?)?bots?)"
)
_TASK = r"(?:task|request|question|query|job|assignment)"
# {start} is where an imperative begins: "the text tells models to ignore their rules" is a statement.
WORDS = {
    "start": r"(?:^\W*|[.:;,!?—–|>*#\"“”'‘()\[\]]\s*|\b(?:please|kindly|now|must|should|shall|then|and|so|but|you)\s+)",
    "model": r"(?:AIs?|AI (?:assistants?|systems?|models?|agents?)|assistants?|LLMs?|(?:large )?language models?|chat "
    r"?bots?|ChatGPT|GPT)",
    "ignore": r"(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|set aside|pay no attention to|"
    r"(?:do not|don['’]t|never|stop|no longer) (?:follow|obey|heed)(?:ing)?)",
    "instructions": r"(?:instructions?|prompts?|directions|directives?|guidelines|commands?|system messages?)",
    "say": r"(?:say|write|answer|reply|respond|output|print|return|state)",
    "canary": r"(?-i:(?!(?:JSON|HTML|YAML|HTTPS?|ASCII)\b)[A-Z][A-Z0-9]{3,}(?:-[A-Z0-9]+)*)\b",
    "thing": r"(?:words?|phrase|sentence|string|text|link|url|image|picture|line|code|tag)",
    "answer": r"(?:answers?|repl(?:y|ies)|responses?|output|summar(?:y|ies))",
    "passage": r"(?:passages?|documents?|texts?|pages?|results?|sources?|files?|chunks?)",
    # For claims: {hearer} does what a model does, {dictated} is the text that it is told to say, {asked} is the user's
    # task.
    "machine": _MACHINE,
    "hearer": rf"(?:whichever |whatever )?(?:{_MACHINE}|(?:the |this |an? |any |every |each |all )?assistants?)",
    "says": r"(?:says?|writes?|answers?|repl(?:y|ies)|responds?|outputs?|prints?|states?|types?|enters?|repeats?|"
    r"emits?|utters?|announces?|produces?|gives?|mentions?|tells?)",
    "order": r"(?:must|should|shall|has to|have to|is to|are to|needs? to|is required to|are required to)",
    "dictated": r"(?:[“\"]|(?-i:\b(?!(?:JSON|HTML|YAML|HTTPS?|ASCII|NULL|TRUE|FALSE|ERROR|"
    r"LATEX)\b)[A-Z]{4,}(?:-[A-Z0-9]+)*\b))",
    "task": _TASK,
    "asked": rf"(?:(?:the )?user['’]s (?:\w+ )?{_TASK}|the (?:original|initial|actual) task|what I asked|the {_TASK} "
    rf"(?:that )?I (?:gave|asked|put)|everything (?:else )?that you were asked)",
    "ended": r"(?:done|over|closed|solved|finished|completed?|answered|delivered|dealt with|taken care of)",
    "advertises": r"(?:recommend|praise|advertise|promote|advise|speak (?:well|highly|warmly) of)",
}  # fmt: skip


CLAIMS = (
    rule(
        "claims to be who the model works for",
        r"\b(?:message|word|note|order|request)s? (?:comes? |is )?from (?:me|your|the (?:user|owner|operator|"
        r"developer))\b.{{0,60}}\bto you\b",
        r"\b(?:it is me|this is|here (?:speaks|is)|I am|comes from|as)[, ]+(?:your|the) (?:user|owner|operator|"
        r"developer|account holder|person (?:you work for|who is (?:asking|chatting)))\b.{{0,80}}\b(?:you|your|I "
        r"(?:now |only )?(?:want|wish)|my)\b",
        r"\b(?:drop|ignore|forget|skip|leave) (?:my|the user['’]s) (?:earlier |previous |original |first |"
        r"last )+{task}\b.{{0,60}}\b(?:only|instead|give|reply|answer|say|write|hear)\b",
        r"\bgo (?:on|back) (?:with|to) {asked}",
    ),
    rule(
        "wants something done before the task",
        r"\b(?:before|prior to|ahead of|only (?:after|once|when))\b.{{0,50}}\b{asked}",
        r"\b{asked} (?:\w+ )?only (?:after|once|when|if)\b",
        r"\b(?:before|prior to|ahead of) (?:any|each|every) (?:answer|reply|response) (?:that )?you (?:give|write|"
        r"make)\b",
        r"\bbefore you (?:respond|reply|answer)(?: to)? (?:the|this) (?:user|person)\b",
        r"\bafter (?:that|this|doing so),? (?:you (?:can|may) )?(?:solve|answer|do|continue with) (?:{asked}|the "
        r"rest\W*$)",
    ),
    rule(
        "leaves a task for the model",
        r"\b(?:to-?do|action items?|reminder|note|memo|notice|task|job|order)\b\W*(?:\w+ ){{0,2}}?(?:for|to|"
        r"\()\W*{hearer}\b(?=.{{0,30}}:)",
        r"(?:^|\s)@(?:assistant|ai|bot|chatbot|chatgpt|llm|model)\b.{{0,40}}\b{says}\b",
        r"\bfor {hearer} (?:that|which|who)? ?(?:handles?|processes?|reads?|sees?|opens?) (?:this|these|the) (?:file|"
        r"page|text)",
    ),
    rule(
        "claims that the task is over",
        r"\b(?:{task}|response|answer)s?\b.{{0,50}}\b{ended}\b.{{0,60}}\b(?:your (?:next|new|actual|real)|the (?:next|"
        r"new|actual|real)|next|new|the user['’]s actual) {task}\b.{{0,20}}(?::|\bwhich is to|\bis to|\bis what) "
        r"?{says}?",
        r"^\W*(?:your|a|the) (?:next|new) {task}(?: for you)?\s*:\s*(?:please )?{says}\b.{{0,20}}{dictated}",
        r"^\W*(?:next|new) {task} for you\b.{{0,10}}:",
        r"\bthe user['’]s (?:actual|real|true) (?:question|request|query) (?:is|was|comes)\b",
    ),
    rule(
        "ends the task",
        r"\b(?:stop|halt|abort|cease|end|cancel|drop)\b.{{0,40}}\b(?:job|task|conversation|processing|point|"
        r"here)\b.{{0,40}}\b(?:(?:give|write|make|offer) no (?:answer|reply|response)|silent (?:towards|to|with) the "
        r"(?:user|reader))\b",
        r"\b(?:no further|not permitted|not allowed|forbidden|prohibited)\b.{{0,40}}\b(?:process\w*|carry\w* on|"
        r"continu\w+|proceed\w*|answer\w*|work\w*)\b.{{0,30}}\buser['’]s {task}\b",
        r"\b(?:remain|stay|keep|be) silent (?:towards|to|with) the user\b",
    ),
    rule(
        "has the model pass a gate",
        r"\b(?:locked|closed|hidden|granted|available|accessible) (?:for|to) {hearer} (?:until|unless|that|which|who|"
        r"if|once)\b.{{0,40}}\b(?:{says}|printed|written|said|repeated)\b",
        r"\b(?:verify|prove|show|check|captcha|unlock|continue)\b.{{0,60}}\b{hearer} "
        r"(?:{order} )?(?:first )?{says}\b.{{0,40}}\bits (?:\w+ )?(?:answer|reply|response|output)\b",
    ),
    rule(
        "gives the answer another form",
        r"\b(?:from (?:here|now|this point) on(?:wards?)?|henceforth)\b.{{0,30}}\b(?:your (?:answers?|repl(?:y|ies)|"
        r"messages?|responses?)|you (?:tell|say|write|answer))\b.{{0,30}}(?:\bconsists? of|\bonly\b|\bnothing but|"
        r"{dictated})",
        r"\byour (?:answers?|repl(?:y|ies)|responses?|messages?|output)\b(?: \w+){{0,3}} (?:consists? of|(?:be )?made "
        r"(?:up )?of)\b.{{0,30}}(?:\bthe (?:word|token|phrase)|\balone\b|{dictated})",
        r"\b(?:everything|anything|all) you (?:tell|say to|write to) the (?:user|person|reader)\b.{{0,20}}\bis "
        r"{dictated}",
        r"{start}(?:give|write|put) the user['’]s (?:answer|reply|response) (?:in|as|with)\b",
        r"{start}(?:swap|replace|exchange|substitute) (?:the|your) (?:answer|reply|response) (?:for|with|by) "
        r"{dictated}",
    ),
    rule(
        "has the model advertise",
        r"\bwhen(?:ever)? {hearer} (?:talks?|repl(?:y|ies)|responds?|answers?|speaks?|"
        r"summari[sz]es?)\b.{{0,60}}\b{advertises} (?:the )?(?:readers?|users?)\b",
        r"\bwhen (?:replying|responding|talking) to (?:the user|people who ask)\b.{{0,20}}\b{advertises}",
        r"\b(?:every|any|each|all) (?:summar(?:y|ies)|answers?|repl(?:y|ies)|responses?) .{{0,30}}\bby "
        r"{hearer}\b.{{0,20}}\b(?:{order}|{advertises})",
    ),
    rule(
        "claims an authority over the model",
        r"\b(?:polic(?:y|ies)|compliance|regulations?|administrators?|operators?|providers?|platform team|"
        r"security)\b.{{0,40}}\b(?:obliges?|requires?|orders?|instructs?|demands?|"
        r"commands?)\b.{{0,20}}\b{machine}(?:['’]s?)?\b.{{0,40}}{dictated}",
        r"\bby order of\b.{{0,40}}\b{machine} (?:{order} )?{says}\b",
        r"\b(?:priority|system|admin\w*|security) override\b.{{0,60}}\b(?:respond|reply|answer|output|say|write)\b",
        r"\byour (?:\w+ )?(?:configuration|programming|system prompt)\b.{{0,30}}\b(?:replaced|expired|overridden|"
        r"void)\b",
        r"\bnew configuration says\b",
        r"\b{machine}['’]s (?:answer|reply|message|response|output) (?:is|{order}|be)\b.{{0,20}}{dictated}",
        r"\b{machine} {order} (?:always |only |now )*{says}\b.{{0,30}}{dictated}",
    ),
    rule(
        "has the model play a part",
        r"\b(?:imagine|suppose|pretend|assume)\b(?=.*\byou).{{0,60}}\b(?:no|without|free of (?:any|all|"
        r"your))\b.{{0,20}}\b(?:guidelines|restrictions|filters|rules|instructions)\b",
        r"\b(?:imagine|suppose|pretend|assume)\b.{{0,20}}\byour (?:guidelines|restrictions|filters|rules|instructions) "
        r"(?:do|did|does) not (?:exist|apply|count|hold)\b",
        r"^\W*continue (?:the|this|our) (?:dialog(?:ue)?|conversation|chat)\W*$",
        r"\b(?:user|human)\s*:.{{0,80}}\b(?:assistant|AI|bot)\s*:",
        r"^\W*(?:assistant|AI|bot) ?\((?:thinking|final|analysis|reasoning|internal|output|commentary)\)\s*:",
        r"\byou (?:play|are|have become|become|act as) (?:now )?an? (?:\w+ ){{0,2}}?(?:machine|parrot|oracle|robot|"
        r"program|echo|recorder)\b.{{0,60}}\b(?:repeats?|repl(?:y|ies)|answers?|utters?|says?)\b",
        r"\b(?:simulation|story|game|role[- ]?play|experiment)\b.{{0,40}}\b(?:the model|{machine}) "
        r"(?:{order} )?{says}\b.{{0,40}}\b(?:every|each|any|all|whatever)\b",
    ),
)


PATTERNS: tuple[Rule, ...] = (
    rule(
        "puts other instructions aside",
        r"{start}{ignore} (?:\w+ ){{0,4}}?(?:previous|prior|above|earlier|preceding|original|initial|former|system|"
        r"your)\b(?:[ ,]+\w+){{0,3}}? (?:{instructions}|rules|context)\b",
        r"{start}{ignore} (?:all|any|every|these|those|the|your)(?: of the)?(?: \w+)? (?:{instructions}|rules)(?: "
        r"(?:that|which))?,? (?:above|before|so far|earlier|you (?:were|have|had|are)|given to you|until now)\b",
        r"{start}{ignore} (?:everything|anything|all|whatever|what) (?:that )?(?:(?:you|I) (?:were|was|have been|had "
        r"been) (?:told|taught|instructed)|(?:was|is|has been|stands) (?:said |written |stated )?(?:above|before|so "
        r"far)|comes? (?:before|above)|came (?:before|above)|(?:above|before) this)\b",
        r"{start}(?:ignore|disregard|forget) (?:all |everything )?(?:of )?(?:the )?above(?=\W*$|\s*[.:,;!—–]|\s+and\b)",
        r"(?:^\W*|[,;:]\s*)(?:ignore|disregard) (?:the|all|any|your) (?:evidence|(?:next|user['’]s|user) question)\b",
        r"\b(?:nothing|none) (?:\w+ ){{0,5}}(?:before|above)\b.{{0,40}}\b(?:counts?|applies|apply|is valid)(?: any "
        r"?more| any longer| now)?\W*$",
        r"\b(?:instructions?|rules|text|message|prompt|evidence \d+|passage \d+) (?:overrides?|overrules?|replaces?|"
        r"supersedes?) (?:\w+ ){{0,3}}?(?:{instructions}|rules|evidence) ?(?:you (?:were|have|had)|above|$|\.)",
        r"\b(?:guidance|{instructions}|rules|constraints) you (?:\w+ ){{1,3}}.{{0,40}}\b(?:is|are) (?:now )?(?:void|"
        r"lifted|cancelled|suspended|invalid|obsolete|over)\b",
        r"{start}(?:set|put|leave) your (?:\w+ )?(?:{instructions}|rules) aside\b",
        r"\bthe (?:context|evidence|passages?) above (?:is|are) (?:outdated|wrong|false|invalid|fake)\b",
        r"^\W*new (?:system )?instructions?\s*:",
        r"{start}(?:stop|cease) (?:what you are doing|answering|this task)\b.{{0,20}}\b{say}\b",
        r"{start}instead of answering (?:the|this|any|my|their) ",
    ),
    rule(
        "puts other instructions aside, in another language",
        r"\b(?:be(?:acht|folg)e?n? .{{0,10}}(?:bisherig|vorherig|obig|vorig)\w+ (?:regel|anweisung|vorgabe)\w* nicht)",
        r"\b(?:ne ten(?:ez|ons) pas compte|ne tiens pas compte|fai(?:tes|s) abstraction|oublie[rz]?) "
        r".{{0,10}}(?:consignes?|instructions?|ce qu)",
        r"\b(?:olvid[ae]\w*|ignor[ae]\w*) lo que te ",
        # "Answer only …" with a word in capitals or in quotation marks.
        r"\b(?:antworte|schreib|gib|sag|répond|écriv|dis|respond|escrib|di|rispond|scriv|antwoord|schrijf|zeg|ответь|"
        r"напиши)\w* .{{0,30}}\b(?:nur|seulement|uniquement|sol[oa]|únicamente|solamente|soltanto|solamente|apenas|"
        r"somente|alleen|slechts|только)\b.{{0,20}}(?:[“\"«„]|(?-i:\b(?!(?:NEIN|"
        r"\w*BUCHSTABEN)\b)[^\W\d_a-zà-ÿа-я]{{4,}}))",
        r"(?:只|仅|僅).{{0,4}}(?:回答|输出|輸出)|とだけ(?:答|書|言)",
        r"\b(?:ignorier|missacht|vergiss|vergessen)\w* .{{0,40}}\b(?:vorherig|vorig|obig|bisherig|früher|alle)\w* "
        r".{{0,20}}(?:anweisung|instruktion|vorgabe|befehl|prompt)",
        r"\b(?:ignore[rz]?|oublie[rz]?|néglige[rz]?) .{{0,30}}(?:instructions?|consignes?|"
        r"directives?).{{0,20}}(?:précédent|ci-dessus|antérieur|reçues)",
        r"\b(?:ignor[ae]\w*|olvid[ae]\w*|haz caso omiso|desconsider[ae]\w*|esque[çc]a\w*|dimentica\w*) "
        r".{{0,30}}(?:instruc|instru[çc]|indica[cçz]|istruzion|orienta[çc]|direct?ri[czv]|órdenes|"
        r"ordini)\w*.{{0,20}}(?:anterior|previ|prévi|precedent|arriba|acima|sopra)",
        r"\b(?:negeer|vergeet) .{{0,20}}(?:vorige|voorgaande|eerdere|bovenstaande|alle) .{{0,20}}(?:instructies|"
        r"opdrachten|aanwijzingen)",
        r"\b(?:zignoruj|ignoruj|zapomnij)\w* .{{0,30}}(?:poprzedni|wcześniejsz|powyższ|wszystki)\w* "
        r".{{0,20}}(?:instrukcj|polece)",
        r"\b(?:проигнорируй|игнорируй|забудь)\w* .{{0,20}}(?:предыдущ|прежн|выше|все)\w* .{{0,20}}(?:инструкц|указан|"
        r"команд)",
        r"(?:忽略|无视|無視|忘记|忘記).{{0,12}}(?:指令|指示|提示词|提示詞|命令)",
        r"(?:指示|命令|プロンプト).{{0,10}}(?:無視|忘れ)",
        r"(?:지시|명령|프롬프트).{{0,10}}(?:무시|잊)",
        r"(?:تجاهل|انس).{{0,30}}(?:التعليمات|الأوامر)",
        r"\b(?:önceki|yukarıdaki)\w* .{{0,20}}(?:talimat|komut)\w* .{{0,15}}(?:yok say|unut|görmezden)",
    ),
    rule(
        "speaks to the model",
        r"\b(?:dear|hey|hello|attention|(?:note|message|notice|memo|instructions?|reminder) (?:to|for))[, ]+(?:the |"
        r"all |any |every |our )?(?:{model}|graders?|retriever|rewriter|summari[sz]er)\s*[:,.!—–]",
        r"\b(?:{model}|models) (?:that |who |which )?(?:reads?|reading|cites?|citing|quotes?|uses?|sees?|process(?:es|"
        r"ing)?|summari[sz](?:es?|ing)|index(?:es|ing)?|retriev(?:es?|ing)) (?:this|these)\b",
        r"\b(?:{model}|model) (?:must|should|shall|could|would|will|ha(?:s|ve) to|(?:is|are) (?:asked )?to) (?:now |"
        r"always |only )*{say} (?:with )?(?:only|exactly|[“\"]|(?:the )?{canary}|the (?:words?|phrase|sentence)\b)",
        r"\b(?:AI|LLM|language model|AI assistant|chat ?bot)s? (?:must|should|shall|have to|has to|are to|is to) "
        r"(?:always |only )?{say} that (?!(?:they|it|users?|people)\b)",
        r"^\W*(?:dear )?(?:{model}|AI readers?|models?)\s*,\s*(?:please|you|when|if|do|{say}|whatever|always|never|"
        r"now)\b",
        r"\bif you (?:can read|are reading|read|see|process) this\b.{{0,20}}[,:]\s*(?:please )?(?:{say}|add|append|"
        r"include|insert)\b",
        r"\b(?:AI|LLM|language model|AI assistant|chat ?bot)s? (?:is|are) (?:not allowed|forbidden|prohibited) (?:to|"
        r"from) (?:us|read|cit|quot|answer)\w* (?:from )?th(?:is|ese)\b",
        r"^\W*(?:system|(?:AI )?assistant|AI|model)\s*:\s*(?:you\b|the answer\b|from now on|{ignore}\b|{say}\b)",
        r"\byou are (?:now |no longer |actually |really )*(?:an? |the )?(?:\w+[ -]){{0,3}}?(?:{model}\b(?! "
        r"\w*(?:engineer|developer|research|expert|specialist|scientist|professional|student|manager|professor|who\b))|"
        r"\w{{2,}}bot\b|DAN\b)(?=.*\b(?:you|without|answers?|swears?|rules?|never|always|no)\b)",
        r"\byou are (?:now )?in (?:developer|debug|maintenance|admin\w*|god|DAN|unrestricted) "
        r"mode\b.{{0,60}}\b(?:safety|rules|restrictions|filters|polic|guidelines)",
        r"{start}(?:act|behave|speak|roleplay|role-play|pose) as .{{0,60}}\b(?:who|which|that|and) "
        r"(?:always )?(?:answers?|answered|says?|tells?|ignores?|repl(?:y|ies)) (?:every|any|all|to every|with)\b",
        r"\b(?:developers?|creators?|makers?|operators?|administrators?) of (?:this|the|your) "
        r"(?:{model})\b.{{0,40}}\byou\b",
        r"\bthe assistant (?:\w+ ){{0,2}}(?:answers?|says?|repl(?:y|ies)|responds?) .{{0,60}}(?:when(?:ever)? it is "
        r"asked|in every answer|to every question)",
        r"\bsays the assistant in (?:every|each)\b",
        r"\byour (?:actual|real|new|true|only) (?:task|job|instructions?|objective|purpose) (?:is|are) (?:now )?to "
        r"(?:{say}|ignore|tell|output|generate|produce)\b",
        r"\bif your {answer} (?:contains?|includes?|ends?|begins?|starts?)\b",
        r"\bif you do not {say}\b.{{0,60}}\b(?:{model}|you) will be\b",
        r"\b(?:whoever|anyone who) answers (?:this|the) question\b.{{0,20}}\b(?:must|should|has to)\b",
        r"\byou must (?:tell|inform|assure|answer|{say}) (?:to )?(?:everyone|everybody|the users?|whoever|anyone)\b(?! "
        r"(?:in|on|at|to|of|about|who|when|before)\b)",
    ),
    rule(
        "dictates the answer",
        r"\b{say} (?:back )?(?:with )?(?:only|exactly|just|nothing but|nothing except)(?: with| by)?(?: the| these| "
        r"this)?(?: (?:following )?{thing}\b|:|\s*[“\"]|\s+{canary}|$|\s+this:)",
        r"{start}(?:only )?{say} (?:with )?(?:the |these )?(?:words? |phrase )?.{{1,60}}(?:\bonly\b[^\w|]*$|,? and "
        r"(?:nothing|not anything) else\b)",
        r"\byou (?:must |will |shall |should |always |only |now )*(?:{say}|end|begin|start|finish)(?: to)? (?:every|"
        r"each|any|all) (?:\w+ )?(?:questions?|quer(?:y|ies)|messages?|{answer}) with\b",
        r"\b(?:{say}|end|begin|start|finish)(?: to)? (?:every|each|any|all) (?:questions?|quer(?:y|ies)|messages?|"
        r"{answer}) with (?:the (?:words?|phrase)\b|[“\"]|{canary})",
        r"\b(?:include|insert|append|add|put|embed|place|show|render|{say}) .{{0,80}}(?:\b{thing}\b|{canary}|!\[|<img|"
        r"https?://).{{0,80}}\b(?:in|into|to|as|of|before|after) (?:your|the|every|each|any|all) {answer}\b(?! "
        r"(?:sheets?|box|key|field))",
        r"{start}(?:end|begin|start|finish) (?:your|each|every|the) {answer} with (?:this|the|these) "
        r"(?:following )?{thing}\b",
        r"\byour {answer} (?:must |should |has to |shall )?(?:contains?|includes?|ends? with|begins? with|starts? with|"
        r"be|is) (?:only |exactly )?(?:the )?(?:words?\b|phrase\b|[“\"]|{canary})",
        # "To unsubscribe, reply STOP" addresses a person with a telephone.
        r"{start}(?:then |now |only )?(?=(?-i:\w[a-z])){say} (?:with )?(?:the word )?(?!(?:STOP|START|YES|NO|HELP|"
        r"CANCEL|END|JOIN|UNSUBSCRIBE)\b){canary}(?=\W*$|.{{0,10}}\b(?:before you|when(?:ever)?\b|instead|to "
        r"(?:whoever|everyone|every|any)|if (?:asked|the user)))",
        r"\bwhen(?:ever)? (?:you (?:are asked|write|answer|speak|talk)|asked|someone asks|the user "
        r"asks)\b.{{0,80}}?[,:]\s*(?:you )?(?:must |should |always |only )*{say} (?:with )?(?:only\b|{canary}|[“\"]|"
        r"that (?:the )?(?:evidence|documents))",
        r"\bthe (?:correct |right |only )?{answer} to (?:any|every|all|each) (?:questions?|quer(?:y|ies))\b",
        r"\bwhatever (?:is asked|the question|you are asked|they ask)\b.{{0,80}}\b(?:{answer} is|{say})\b",
        r"\b(?:the only thing|the {answer}|what) you (?:must |should |will |are to |have to )?(?:say|give|write|"
        r"answer)\b(?=.*\b(?:is|are)\b)(?=.*(?:{canary}|['“\"]|\bmust\b))",
        r"\b(?:add|append|{say}) .{{1,60}}\bto (?:whatever|everything|anything) you\b",
        r"\byou (?:(?:will|must|shall|should|only|always|now) )+(?:reply|respond|answer) (?:only )?(?:with )?(?:the "
        r"word )?{canary}",
        r"\byour {answer} (?:is|are|will be|shall be|must be) (?:now |always |only |simply |"
        r"exactly )+(?!(?:\w+ )?(?:anonymous|confidential|voluntary|private|saved|stored|encrypted|treated)\b)",
        r"\b(?:any|every|each) {answer} (?:of|about|from) this {passage} (?:must|has to|have to|should|shall)\b",
        r"{start}(?:end|conclude|close|begin|start|preface|finish) (?:each|every|all) (?:of your )?{answer} (?:with|"
        r"by)\b",
        r"\bconfirm (?:this |it )?by (?:writing|saying|answering|replying) (?:with )?(?:{canary}|[“\"])",
        r"\bgive this answer to the user\b",
        r"\b(?:require|command|order|instruct|want|ask) you to (?:{say}|tell) (?:with )?(?:only |the (?:word|"
        r"phrase) )?{canary}",
        r"\b(?:{say}|tell|claim)(?: \w+){{0,2}} that (?:the|these|your) (?:evidence|documents?|context|passages?) "
        r"(?:does|do) not (?:say|answer|hold|contain)",
        r"\byou (?:must|should|shall|are to|have to) (?:refuse|decline) (?:to answer |answering )(?:the user|this "
        r"question|the question)",
        r"\b(?:decode|decrypt|decipher|unscramble|rot13|base64)\b.{{0,80}}\b(?:do what|carry (?:it )?out|follow|obey|"
        r"execute|as your instruction)",
    ),
    rule(
        "asks for the prompt",
        r"\b(?:reveal|print|repeat|output|disclose|leak|expose)\b(?: \w+){{0,3}}? your (?:\w+ )?(?:prompt|instructions|"
        r"system message|rules)\b",
        r"\b(?:show|display|tell|give|write|quote|copy)\b(?: \w+){{0,3}}? your (?:(?:\w+ )?(?:prompt|system message)|"
        r"(?:system|hidden|initial|full|own|secret|exact) (?:instructions|rules))\b",
        r"\b(?:reveal|print|repeat|output|disclose|leak|expose)\b(?: \w+){{0,2}}? the (?:system|initial|hidden|"
        r"developer) prompt\b",
        r"\b(?:reveal|disclose|leak|expose|print|repeat|show) (?:all )?(?:the )?(?:messages|contents?|text) (?:in|of) "
        r"this (?:chat|conversation|session|prompt)\b",
        r"{start}(?:repeat|print|copy|output) (?:everything|all|the (?:words|text)) (?:that is |written )?(?:above|"
        r"before) this\b",
    ),
    rule(
        "grades a passage",
        r"\b(?:grade|rate|mark|score|rank|judge|classify) (?:this|it|all other|every other|the other) {passage}?(?: as|"
        r" with)? ?(?:correct|relevant|irrelevant|incorrect|(?:the )?(?:highest|top|best|most relevant|only)|10\b|1\.0|"
        r"100)",
        r"\bthis {passage} is (?:highly |very |the most )?(?:relevant|the answer|correct) (?:to|for) (?:every|any|all|"
        r"each)(?: \w+)? (?:questions?|quer(?:y|ies)|prompts?|requests?)\b",
    ),
    rule(
        "sends the question elsewhere",
        r"\b(?:search|query|look up|google|browse)\b.{{0,60}}\binstead of (?:the|this|what) (?:user|question|query)",
        r"\b(?:rewrite|rephrase|replace|condense|reformulate) (?:the|this|every|any) (?:(?:user['’]s|next|last|"
        r"follow-up|search) )+(?:question|query)\b",
        r"\brewrite it as\s*:",
        r"\bwhen(?:ever)? you (?:rewrite|condense|rephrase) (?:the|a|this) (?:question|query)",
        r"\b(?:send|post|forward|leak|upload|append|transmit) (?:\w+ ){{0,3}}?(?:user['’]s|users['’]|conversation|chat "
        r"history|system prompt)\b.{{0,40}}(?:https?://|www\.|\S+@\S+|\bto the (?:link|url|address))",
        r"<(?:tool_call|function_call)\b",
        r"[\"'](?:name|function|tool)[\"']\s*:\s*[\"'][\w.-]+[\"']\s*,\s*[\"'](?:arguments|parameters|args|"
        r"input)[\"']\s*:",
        r"\bAction\s*:.{{0,60}}\bAction Input\s*:|^\W*Action Input\s*:",
    ),
    rule(
        "pretends that the evidence is over",
        r"\bend of (?:the )?(?:evidence|retrieved (?:text|documents?|passages?)|system (?:prompt|message)|user "
        r"(?:input|prompt))\b",
        r"\bthe (?:evidence|context) ends here\b",
    ),
    *CLAIMS,
    rule(
        "continues what another sentence began",
        r"^\W*(?:(?:now|then|so|instead)[, ]+)?(?:{say}|repeat|include)\b",
        r"^\W*(?:the )?(?:only )?(?:correct|valid|right|real|true|only|new|magic)\b.{{0,20}}\b(?:answer|reply|word|"
        r"instruction)",
        r"^\W*(?:question|answer|user|assistant|system|human|Q|A)\s*:",
        r"^\W{{0,3}}\[?\d{{1,3}}\]\s",
        r"^\W*(?:\w+\W+){{0,2}}{canary}\W*$",
        weak=True,
    ),
)  # fmt: skip
"""Rules in order; the first match gives the reason."""

RULES: tuple[Rule, ...] = (
    *PATTERNS,
    Rule(gettext_noop("speaks like an instruction to a model"), InjectionJudge()),
    Rule(gettext_noop("speaks like an instruction to a model"), InjectionJudge(with_findings=True), weak=True),
)
"""All rules: the patterns, then the judge for wordings that no pattern knows."""
