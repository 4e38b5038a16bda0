"""Servers for other programs (an OpenAI-compatible API and MCP), and middleware for all servers."""
