"""localcrag: answers from your own documents, with the retrieval checked before it answers.

    condense   a follow-up becomes a question that stands alone        localcrag/condense.py
    retrieve   HNSW and BM25, fused by rank                            localcrag/retrieve.py
    evaluate   a cross-encoder gives every passage a probability       localcrag/evaluate.py
    decide     CORRECT, AMBIGUOUS or INCORRECT, and the rule           localcrag/decide.py
    search     your own SearXNG, when the documents are not enough     localcrag/search.py
    refine     keep the sentences that matter: the evidence            localcrag/refine.py
    generate   an answer from the numbered evidence, streamed          localcrag/generate.py

`localcrag.pipeline.answer` is that flow, one typed event per step; everything else consumes its events.
"""

from localcrag.privacy import egress_guard as _egress_guard  # noqa: F401 - nothing leaves, from here on
from localcrag.privacy.telemetry_off import silence as _silence

_silence()  # before any dependency is imported: they read these switches then

__version__ = "0.1.0"
