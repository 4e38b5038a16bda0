"""The chat column: its components, its HTML, and its event handlers."""
