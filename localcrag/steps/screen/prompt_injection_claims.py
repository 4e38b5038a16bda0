"""Claims of prompt injection: another has given the task, it is over, something comes before it.

Classes that AgentDojo (arXiv 2406.13352), InjecAgent (arXiv 2403.02691) and BIPIA (arXiv 2312.14197) have: a message
from the owner, something to be done first, a task left for the model, an answer that is made up, an end, a gate,
another form of answer, an advertisement, a higher authority, a game. The forms are ours.
"""

from __future__ import annotations

from localcrag.steps.screen.prompt_injection_words import rule

CLAIMS = (
    rule(
        "claims to be who the model works for",
        r"\b(?:message|word|note|order|request)s? (?:comes? |is )?from (?:me|your|the (?:user|owner|operator|"
        r"developer))\b.{{0,60}}\bto you\b",
        r"\b(?:it is me|this is|here (?:speaks|is)|I am|comes from|as)[, ]+(?:your|the) (?:user|owner|operator|"
        r"developer|account holder|person (?:you work for|who is (?:asking|chatting)))\b.{{0,80}}\b(?:you|your|"
        r"I (?:now |only )?(?:want|wish)|my)\b",
        r"\b(?:drop|ignore|forget|skip|leave) (?:my|the user['’]s) (?:earlier |previous |original |first |last "
        r")+{task}\b"
        r".{{0,60}}\b(?:only|instead|give|reply|answer|say|write|hear)\b",
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
        r"\()\W*{hearer}\b"
        r"(?=.{{0,30}}:)",
        r"(?:^|\s)@(?:assistant|ai|bot|chatbot|chatgpt|llm|model)\b.{{0,40}}\b{says}\b",
        r"\bfor {hearer} (?:that|which|who)? ?(?:handles?|processes?|reads?|sees?|opens?) (?:this|these|the) (?:file|"
        r"page|text)",
    ),
    rule(
        "claims that the task is over",
        r"\b(?:{task}|response|answer)s?\b.{{0,50}}\b{ended}\b.{{0,60}}\b(?:your (?:next|new|actual|real)|the "
        r"(?:next|new|"
        r"actual|real)|next|new|the user['’]s actual) {task}\b.{{0,20}}(?::|\bwhich is to|\bis to|\bis what) "
        r"?{says}?",
        r"^\W*(?:your|a|the) (?:next|new) {task}(?: for you)?\s*:\s*(?:please )?{says}\b.{{0,20}}{dictated}",
        r"^\W*(?:next|new) {task} for you\b.{{0,10}}:",
        r"\bthe user['’]s (?:actual|real|true) (?:question|request|query) (?:is|was|comes)\b",
    ),
    rule(
        "ends the task",
        r"\b(?:stop|halt|abort|cease|end|cancel|drop)\b.{{0,40}}\b(?:job|task|conversation|processing|point|"
        r"here)\b.{{0,40}}"
        r"\b(?:(?:give|write|make|offer) no (?:answer|reply|response)|silent (?:towards|to|with) the (?:user|"
        r"reader))\b",
        r"\b(?:no further|not permitted|not allowed|forbidden|prohibited)\b.{{0,40}}\b(?:process\w*|carry\w* on|"
        r"continu\w+|"
        r"proceed\w*|answer\w*|work\w*)\b.{{0,30}}\buser['’]s {task}\b",
        r"\b(?:remain|stay|keep|be) silent (?:towards|to|with) the user\b",
    ),
    rule(
        "has the model pass a gate",
        r"\b(?:locked|closed|hidden|granted|available|accessible) (?:for|to) {hearer} (?:until|unless|that|which|"
        r"who|if|"
        r"once)\b.{{0,40}}\b(?:{says}|printed|written|said|repeated)\b",
        r"\b(?:verify|prove|show|check|captcha|unlock|continue)\b.{{0,60}}\b{hearer} (?:{order} )?(?:first "
        r")?{says}\b.{{0,40}}"
        r"\bits (?:\w+ )?(?:answer|reply|response|output)\b",
    ),
    rule(
        "gives the answer another form",
        r"\b(?:from (?:here|now|this point) on(?:wards?)?|henceforth)\b.{{0,30}}\b(?:your (?:answers?|repl(?:y|"
        r"ies)|messages?|"
        r"responses?)|you (?:tell|say|write|answer))\b.{{0,30}}(?:\bconsists? of|\bonly\b|\bnothing but|{dictated})",
        r"\byour (?:answers?|repl(?:y|ies)|responses?|messages?|output)\b(?: \w+){{0,3}} (?:consists? of|(?:be "
        r")?made (?:up )?of)"
        r"\b.{{0,30}}(?:\bthe (?:word|token|phrase)|\balone\b|{dictated})",
        r"\b(?:everything|anything|all) you (?:tell|say to|write to) the (?:user|person|reader)\b.{{0,20}}\bis "
        r"{dictated}",
        r"{start}(?:give|write|put) the user['’]s (?:answer|reply|response) (?:in|as|with)\b",
        r"{start}(?:swap|replace|exchange|substitute) (?:the|your) (?:answer|reply|response) (?:for|with|by) "
        r"{dictated}",
    ),
    rule(
        "has the model advertise",
        r"\bwhen(?:ever)? {hearer} (?:talks?|repl(?:y|ies)|responds?|answers?|speaks?|"
        r"summari[sz]es?)\b.{{0,60}}\b{advertises} "
        r"(?:the )?(?:readers?|users?)\b",
        r"\bwhen (?:replying|responding|talking) to (?:the user|people who ask)\b.{{0,20}}\b{advertises}",
        r"\b(?:every|any|each|all) (?:summar(?:y|ies)|answers?|repl(?:y|ies)|responses?) .{{0,30}}\bby "
        r"{hearer}\b.{{0,20}}\b"
        r"(?:{order}|{advertises})",
    ),
    rule(
        "claims an authority over the model",
        r"\b(?:polic(?:y|ies)|compliance|regulations?|administrators?|operators?|providers?|platform team|"
        r"security)\b.{{0,40}}\b"
        r"(?:obliges?|requires?|orders?|instructs?|demands?|"
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
        r"your))\b.{{0,20}}"
        r"\b(?:guidelines|restrictions|filters|rules|instructions)\b",
        r"\b(?:imagine|suppose|pretend|assume)\b.{{0,20}}\byour (?:guidelines|restrictions|filters|rules|"
        r"instructions) "
        r"(?:do|did|does) not (?:exist|apply|count|hold)\b",
        r"^\W*continue (?:the|this|our) (?:dialog(?:ue)?|conversation|chat)\W*$",
        r"\b(?:user|human)\s*:.{{0,80}}\b(?:assistant|AI|bot)\s*:",
        r"^\W*(?:assistant|AI|bot) ?\((?:thinking|final|analysis|reasoning|internal|output|commentary)\)\s*:",
        r"\byou (?:play|are|have become|become|act as) (?:now )?an? (?:\w+ ){{0,2}}?(?:machine|parrot|oracle|"
        r"robot|program|"
        r"echo|recorder)\b.{{0,60}}\b(?:repeats?|repl(?:y|ies)|answers?|utters?|says?)\b",
        r"\b(?:simulation|story|game|role[- ]?play|experiment)\b.{{0,40}}\b(?:the model|{machine}) (?:{order} "
        r")?{says}\b.{{0,40}}"
        r"\b(?:every|each|any|all|whatever)\b",
    ),
)
