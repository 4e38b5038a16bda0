"""German words."""

from __future__ import annotations

from localcrag.text.lexicon.lexicon import Lexicon

GERMAN = Lexicon(
    code="de",
    name="German",
    snowball="german",
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
