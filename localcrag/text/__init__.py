"""Text: words, sentences, blocks, titles, dates, Markdown and translation; independent of documents and models."""
