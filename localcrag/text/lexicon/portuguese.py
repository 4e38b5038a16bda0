"""Portuguese words."""

from __future__ import annotations

from localcrag.text.lexicon.lexicon import Lexicon

PORTUGUESE = Lexicon(
    code="pt",
    name="Portuguese",
    snowball="portuguese",
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
