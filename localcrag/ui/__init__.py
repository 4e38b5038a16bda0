"""The page: turns events of the browser into calls of the app, and what comes back into HTML."""
