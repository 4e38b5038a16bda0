"""Text: words, sentences, titles, dates, Markdown and translation. Knows nothing of documents or models."""
