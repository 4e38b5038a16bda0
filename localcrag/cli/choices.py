"""Choices that several commands offer.

Written out and compared by a test: the enums themselves are imported later, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

POLICIES = ("max", "fraction", "ratio", "count")
WEB_MODES = ("never", "ask", "always")
CONFLICT_RULES = ("documents", "web", "newer", "more-relevant", "show-both")
PRESETS = ("general", "medical", "legal", "news", "fast", "strict", "balanced", "lenient", "documents-only")
STRIP_MODES = ("sentence", "multi-sentence", "paragraph", "window", "adaptive")
STRICTNESS = ("strict", "balanced", "lenient")
REFINERS = ("strips", "llm")
ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")
ROLES = ("embedder", "relevance", "llm")
