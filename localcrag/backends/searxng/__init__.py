"""The web search: the user's own SearXNG."""
