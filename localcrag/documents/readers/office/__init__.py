"""Readers of office files: Word, Excel, PowerPoint and OpenDocument, with and without a password."""
