"""The kinds of documents, by the names that people know."""

from __future__ import annotations

PDF_TYPE = "application/pdf"
OLD_SLIDES = "application/vnd.ms-powerpoint"
KINDS = {
    PDF_TYPE: "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/msword": "Word",
    "application/vnd.oasis.opendocument.text": "OpenDocument",
    "application/rtf": "RTF",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
    OLD_SLIDES: "PowerPoint",
    "application/vnd.oasis.opendocument.presentation": "OpenDocument",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.ms-excel": "Excel",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument",
    "text/csv": "CSV",
    "text/tab-separated-values": "TSV",
    "application/epub+zip": "EPUB",
    "message/rfc822": "E-mail",
    "application/vnd.ms-outlook": "E-mail",
    "application/mbox": "Mailbox",
    "multipart/related": "HTML",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "application/xhtml+xml": "HTML",
    "text/plain": "Text",
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/tiff": "TIFF",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/webp": "WebP",
}
"""By media type."""
SHEETS = (
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.ms-excel",
    "application/vnd.oasis.opendocument.spreadsheet",
    "text/csv",
    "text/tab-separated-values",
)
"""The media types of spreadsheets."""


def kind_of(media_type: str) -> str:
    """Return what people call this kind of document; the media type where nothing else is known."""
    return KINDS.get(media_type, media_type)
