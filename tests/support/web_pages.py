"""The pages that the tests' search server knows: short texts about lasting facts, written for this project."""

from __future__ import annotations

from typing import NamedTuple


class WebPage(NamedTuple):
    title: str
    url: str
    content: str


def _page(name: str, title: str, content: str) -> WebPage:
    return WebPage(title, f"https://pages.example/{name}", content)


GENERAL = (
    _page(
        "greenland",
        "Greenland",
        "Greenland is the largest island in the world. It belongs to the Kingdom of Denmark, governs itself in home "
        "affairs, and has its capital at Nuuk. About four fifths of it lie under an ice sheet.",
    ),
    _page(
        "mount-everest",
        "Mount Everest",
        "Mount Everest stands 8,849 metres above the sea, on the border of Nepal and China. Edmund Hillary and Tenzing "
        "Norgay were the first known to reach its summit, on 29 May 1953.",
    ),
    _page(
        "speed-of-light",
        "The speed of light",
        "Light travels through a vacuum at exactly 299,792,458 metres per second. The number is exact because the "
        "metre has been defined by it since 1983.",
    ),
    _page(
        "penicillin",
        "How penicillin was found",
        "Alexander Fleming noticed in September 1928 that a mould had killed the bacteria around it on a forgotten "
        "dish. Florey and Chain made a medicine of penicillin in Oxford some ten years later.",
    ),
    _page(
        "photosynthesis",
        "Photosynthesis",
        "Green plants turn carbon dioxide and water into sugar and oxygen with the energy of sunlight. The green "
        "pigment chlorophyll catches the light.",
    ),
    _page(
        "octopus",
        "The octopus",
        "An octopus has three hearts, eight arms and blue blood. The blood is blue because it carries oxygen with "
        "copper (haemocyanin) and not with iron.",
    ),
    _page(
        "great-wall",
        "The Great Wall of China",
        "Most of the Great Wall that stands today was built under the Ming dynasty, between 1368 and 1644. A survey "
        "published in 2012 put all walls of all dynasties together at 21,196 kilometres.",
    ),
    _page(
        "apollo-11",
        "Apollo 11",
        "Neil Armstrong and Buzz Aldrin landed on the Moon on 20 July 1969 while Michael Collins stayed in orbit. They "
        "brought 21.5 kilograms of rock and soil back.",
    ),
    _page(
        "amazon-river",
        "The Amazon",
        "The Amazon carries more water than any other river, roughly 200,000 cubic metres a second at its mouth. It "
        "rises in the Andes of Peru and ends in the Atlantic in Brazil.",
    ),
    _page(
        "dna",
        "The double helix",
        "James Watson and Francis Crick described the double helix of DNA in 1953. They leaned on X-ray photographs "
        "taken by Rosalind Franklin and Raymond Gosling.",
    ),
    _page(
        "mariana-trench",
        "The Mariana Trench",
        "The deepest known place in the ocean is the Challenger Deep in the Mariana Trench, almost 11 kilometres under "
        "the western Pacific. Jacques Piccard and Don Walsh dived there in 1960.",
    ),
    _page(
        "printing-press",
        "Gutenberg's press",
        "Johannes Gutenberg printed with movable metal type in Mainz around 1450. His Bible has 42 lines to most of "
        "its pages; some 49 copies survive.",
    ),
    _page(
        "sahara",
        "The Sahara",
        "The Sahara is the largest hot desert, about nine million square kilometres in the north of Africa. Between "
        "some 11,000 and 5,000 years ago it was green and had lakes.",
    ),
    _page(
        "water-boiling",
        "Why water boils sooner on a mountain",
        "At sea level water boils at 100 degrees Celsius. Air pressure falls with height, and the boiling point with "
        "it: on a mountain of 3,000 metres it is near 90 degrees.",
    ),
    _page(
        "venus",
        "A day on Venus",
        "Venus turns once in 243 Earth days, and backwards compared with most planets. Its year of 225 Earth days is "
        "therefore shorter than one turn.",
    ),
    _page(
        "eiffel-tower",
        "The Eiffel Tower",
        "The Eiffel Tower in Paris was finished in 1889 for a world's fair. With its antennas it is 330 metres high, "
        "and some centimetres more in summer, when the iron expands.",
    ),
    _page(
        "honey",
        "Why honey keeps",
        "Honey holds so little water, and is so acid, that bacteria cannot grow in it. Sealed honey can be kept for "
        "many years; crystals are no sign that it has spoiled.",
    ),
    _page(
        "blue-whale",
        "The blue whale",
        "The blue whale is the largest animal known to have lived: up to about 30 metres long and 150 tonnes or more "
        "in weight. It eats krill.",
    ),
    _page(
        "python-language",
        "The programming language Python",
        "Guido van Rossum released Python in 1991 and named it after Monty Python's Flying Circus. Blocks are marked "
        "by indentation and not by braces.",
    ),
    _page(
        "c-plus-plus",
        "The programming language C++",
        "Bjarne Stroustrup began C++ in 1979 as “C with Classes”. The name C++ came in 1983: ++ adds one to a number "
        "in C.",
    ),
    _page(
        "coffee",
        "Where coffee comes from",
        "Arabica coffee comes from the highlands of Ethiopia and was first traded from Yemen. Brazil has been the "
        "largest grower for more than 150 years.",
    ),
    _page(
        "iceland",
        "Iceland's Althing",
        "The parliament of Iceland, the Althing (Alþingi), first met at Þingvellir in the year 930. It is among the "
        "oldest parliaments that still sit, though it was suspended from 1800 to 1844.",
    ),
    _page(
        "marie-curie",
        "Marie Curie",
        "Marie Skłodowska Curie received the Nobel Prize in Physics in 1903 and in Chemistry in 1911. She found "
        "polonium and radium with her husband Pierre.",
    ),
    _page(
        "bees",
        "How bees tell the way",
        "A honeybee that has found food dances on the comb: the angle of the dance gives the direction from the sun, "
        "its length the distance. Karl von Frisch explained the waggle dance.",
    ),
    _page(
        "leap-year",
        "Leap years",
        "In the Gregorian calendar a year that can be divided by four is a leap year, except full hundreds, unless "
        "they can be divided by 400: 1900 was none and 2000 was one.",
    ),
    _page(
        "panama-canal",
        "The Panama Canal",
        "The Panama Canal opened in August 1914 and is about 80 kilometres long. Locks lift ships 26 metres up to "
        "Gatun Lake and down again.",
    ),
    _page(
        "tokyo",
        "Tokyo",
        "Tokyo was called Edo until 1868, when the emperor moved there from Kyoto. In Japanese it is written 東京, "
        "which means the eastern capital.",
    ),
    _page(
        "sourdough",
        "Sourdough",
        "A sourdough starter is flour and water in which wild yeasts and lactic acid bacteria live. The yeasts raise "
        "the bread and the bacteria make it sour.",
    ),
    _page(
        "vaccines",
        "The first vaccine",
        "Edward Jenner showed in 1796 that cowpox protects from smallpox. The World Health Organization declared "
        "smallpox eradicated in 1980.",
    ),
    _page(
        "chess",
        "The chessboard",
        "A chessboard has 64 squares and each side begins with 16 pieces. A pawn that reaches the last rank becomes a "
        "queen, rook, bishop or knight.",
    ),
)

TRAVEL = (
    _page(
        "per-diem-rates",
        "Per-diem rates for business travel in the United States",
        "The General Services Administration sets the per-diem rates for the continental United States, anew for each "
        "fiscal year from 1 October. On the first and the last day of a trip 75 per cent of the rate for meals and "
        "incidental expenses are paid.",
    ),
    _page(
        "passport-renewal",
        "Renewing a US passport",
        "A US passport issued at the age of 16 or later is valid for ten years. It can be renewed by post with form "
        "DS-82 when it is undamaged and was issued within the last 15 years.",
    ),
    _page(
        "six-month-rule",
        "The six-month rule for passports",
        "Many countries let a visitor in only when the passport is valid for six months beyond the stay. The Schengen "
        "states ask for three months beyond the planned departure, and a passport less than ten years old.",
    ),
    _page(
        "schengen-90-180",
        "90 days in 180: short stays in the Schengen area",
        "Visitors who need no visa may stay in the Schengen area for 90 days in any period of 180 days. The day of "
        "arrival and the day of departure both count.",
    ),
    _page(
        "cabin-baggage-liquids",
        "Liquids in hand baggage",
        "At many airports liquids in hand baggage must be in containers of 100 millilitres or less, all in one "
        "transparent bag of one litre. Medicines and baby food are excepted.",
    ),
    _page(
        "checked-baggage",
        "Checked baggage on airlines",
        "Most airlines limit a checked bag in economy class to 23 kilograms, and in business class to 32 kilograms. "
        "The sum of length, width and height is often limited to 158 centimetres.",
    ),
    _page(
        "power-banks",
        "Power banks and spare batteries on aeroplanes",
        "Spare lithium batteries and power banks belong in the cabin and never in checked baggage. Up to 100 "
        "watt-hours no permission is needed; between 100 and 160 the airline has to agree.",
    ),
    _page(
        "eu261-compensation",
        "EU261: compensation for delayed and cancelled flights",
        "Regulation (EC) No 261/2004 gives passengers 250, 400 or 600 euros, by distance, for a cancelled flight or an "
        "arrival three hours late or more. Nothing is due when the cause was extraordinary, such as bad weather.",
    ),
    _page(
        "lost-baggage",
        "Lost, late and damaged baggage",
        "Under the Montreal Convention damage to checked baggage must be reported in writing within 7 days, and delay "
        "within 21 days of getting it back. After 21 days a missing bag counts as lost.",
    ),
    _page(
        "hotel-receipts",
        "Receipts for travel expenses",
        "In the United States a receipt is needed for lodging at any price, and for other travel expenses of 75 "
        "dollars or more. A receipt shows the amount, the date, the place and the kind of expense.",
    ),
)

PAGES = GENERAL + TRAVEL
