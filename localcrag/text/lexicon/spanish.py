"""Spanish words."""

from __future__ import annotations

from localcrag.text.lexicon.lexicon import Lexicon

SPANISH = Lexicon(
    code="es",
    name="Spanish",
    snowball="spanish",
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
