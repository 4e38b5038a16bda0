"""The page: events -> components. No logic: what is shown was decided in the pipeline."""
