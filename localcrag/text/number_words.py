"""English number words, in order of their values."""

SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
"""0 to 19."""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
