"""The Model Context Protocol, for editors and assistants."""
