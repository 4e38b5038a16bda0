"""What other programs talk to: an API as OpenAI's, MCP, and the doors that the page has as well."""
