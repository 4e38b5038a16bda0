"""Text: words, sentences, titles, dates, Markdown, translation. Knows no documents or models."""
