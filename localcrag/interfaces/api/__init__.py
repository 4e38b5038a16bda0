"""Servers for other programs: an OpenAI-compatible API and MCP tools. The middleware is the web interface's, too."""
