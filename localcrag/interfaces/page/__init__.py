"""The page: turn browser events into calls of the app, and what returns into HTML."""
