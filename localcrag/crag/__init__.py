"""The steps of the flow (Corrective RAG): from a question to a verified answer. No disk, network or model library."""
