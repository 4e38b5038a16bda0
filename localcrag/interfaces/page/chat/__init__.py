"""The chat's column: its components, its HTML, and the handlers of its events."""
