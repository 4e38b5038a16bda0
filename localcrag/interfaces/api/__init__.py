"""What other programs talk to: an OpenAI-compatible API, MCP, and the middleware of every server."""
