"""The interfaces of localcrag: the command line, the web interface, and the API and MCP servers."""
