"""Probe pairs: questions and passages that the number formats of a relevance model are compared on."""

from __future__ import annotations

_JOURNEYS = (
    "Journeys within one country are approved by the traveller's team lead, journeys abroad by the head of the "
    "department as well, at least ten working days before they begin. Trains are preferred to aeroplanes when they "
    "take less than six hours. The hotel limit is 195 euros a night in London, 165 euros in Bergen and 120 euros "
    "everywhere else, breakfast included; a dearer room needs a reason in writing. Receipts are handed in within four "
    "weeks of the return, as photographs or on paper, and the money is paid with the next salary. Whoever cancels a "
    "journey tells the travel office on the same day, so that rooms and tickets can still be given back without a fee."
)
_BICYCLES = (
    "Bicycles are lent at the reception between eight in the morning and six in the evening, for five euros a day and "
    "a signature. There are twelve of them, two with a box for children and one for loads of up to eighty kilograms. A "
    "helmet comes with each and has to be worn on the company's grounds. Damage is to be reported when the bicycle is "
    "returned; nobody pays for a flat tyre. A bicycle that is kept over night must stand in a locked room, and a lost "
    "key costs thirty euros. In winter, from December until the end of February, the bicycles are serviced one after "
    "the other, so that only half of them can be had at any time. Guests may borrow one as well."
)
_LEAVES = (
    "In the leaves of green plants, light is turned into sugar. Water rises from the roots through fine vessels, "
    "carbon dioxide comes in through pores on the lower side of the leaf, and in the green bodies of the cells the "
    "energy of the light splits the water. Oxygen is set free and leaves through the same pores. The sugar is stored "
    "as starch or carried to wherever the plant grows. At night the pores close and the plant breathes as animals do. "
    "When the days grow shorter, many trees take the green out of their leaves before they shed them; yellow and red, "
    "which were there all summer, can then be seen. A large beech turns about twelve kilograms of sugar on a sunny "
    "day."
)
_HARBOUR = (
    "The old harbour of the town was dug in 1684, when the river had silted up so far that only flat boats could reach "
    "the market. Two hundred men worked on it for three summers. Its walls are of granite from the quarries in the "
    "north, its gates were of oak and had to be renewed every thirty years. For a century, herring and timber were "
    "traded here, and merchants from London kept four houses at the quay, one of which is a hotel today. The railway "
    "took the trade away in 1871. Since 1990 the harbour has been a place for sailing boats, with berths for 140 of "
    "them, a crane, and a small museum in the weigh house, which is open on Sundays."
)
PASSAGES = (_JOURNEYS, _BICYCLES, _LEAVES, _HARBOUR)
PROBES = (
    ("What is the hotel limit in London?", PASSAGES),
    ("how do plants make sugar from light", PASSAGES),
)
"""Each question with passages of about 140 tokens: eight pairs, of which two answer."""
PAIRS = sum(len(passages) for _, passages in PROBES)
