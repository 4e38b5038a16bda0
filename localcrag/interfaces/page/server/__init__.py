"""The page's server: start, access checks, limits of requests, hand-over from later starts."""
