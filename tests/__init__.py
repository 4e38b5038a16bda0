"""The tests. All of them run guarded, and so do the processes that they start: nothing may leave this computer."""

import localcrag

localcrag.guard()
