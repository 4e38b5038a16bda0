"""Text: words, sentences, blocks, titles, quantities and translation."""
