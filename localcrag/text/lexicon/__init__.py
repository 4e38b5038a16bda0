"""Words of languages other than English, as far as rules ask for them: one module a language."""
