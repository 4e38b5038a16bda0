"""C++ locales settled before usearch is imported: llama.cpp could not use them afterwards.

Its wheels for Linux bring a copy of the C++ library with them, which numbers the parts of a locale anew, in the same
places as the system's: what the system's library has not numbered by then is mixed up, and llama.cpp finds no rules for
letters any more (“std::bad_cast” as a model is loaded). So the system's library is asked for its locale first; that
numbers them all, once and for good. Imported for what it does, by whoever imports usearch.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

if sys.platform == "linux":
    with suppress(OSError, AttributeError):
        # std::locale::classic(), which has no other name than the one it is compiled to.
        ctypes.CDLL("libstdc++.so.6")._ZNSt6locale7classicEv()
