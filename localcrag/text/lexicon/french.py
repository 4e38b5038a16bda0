"""French words."""

from __future__ import annotations

from localcrag.text.lexicon.lexicon import Lexicon

FRENCH = Lexicon(
    code="fr",
    name="French",
    snowball="french",
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
