"""Reports of evaluations: figures become pages."""
