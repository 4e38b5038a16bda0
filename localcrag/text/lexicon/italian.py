"""Italian words."""

from __future__ import annotations

from localcrag.text.lexicon.lexicon import Lexicon

ITALIAN = Lexicon(
    code="it",
    name="Italian",
    snowball="italian",
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
    more_numbers={},
    defines=r"(?:(?:che )?cos['’]è|che cosa (?:è|sono)|chi (?:è|sono|era)|(?:che )?cosa (?:sono|significa)) "
    r"(?:un[ao]? |un['’])?",
    abbreviations="n art artt tel ca cfr pag pagg cap fig",
    impersonal=r"\b(?:quanto tempo ci vuole|(?:ce|se) ne)\b",
    elides=True,
)
