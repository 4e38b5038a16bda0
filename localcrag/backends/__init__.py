"""The only place with side effects: one file per outside thing."""
