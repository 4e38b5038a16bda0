"""Desktop integration: menu entries for each system, the app window, and a single running instance."""
