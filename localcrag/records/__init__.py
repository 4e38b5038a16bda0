"""Records: frozen values of the vocabulary, events, protocols, presets and the error tree."""
