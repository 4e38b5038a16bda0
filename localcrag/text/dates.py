"""Dates as files and web pages write them, as ISO dates; None where one cannot be true."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

EARLIEST = date(1990, 1, 1)
"""Older than HTML (1993), PDF (1993) and DOCX (2007), and later than the zero of every clock a program may have written
for want of a date: 1601 (Windows), 1899 and 1904 (Office), 1970 (Unix), 1980 (ZIP)."""
AHEAD = timedelta(days=1)
"""East of here it may be tomorrow already."""

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_PDF = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})(?=\d{2}|$|[ TZ+-])")
"""ISO 32000-1, section 7.9.4: D:YYYYMMDDHHmmSS, where later parts may be left out; a year alone is no date here."""
_WRITTEN = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y")


def iso_date(written: str | None, today: date | None = None) -> str | None:
    """Return a date as YYYY-MM-DD, its time of day left out; None when it is none, or cannot be true.

    Read are ISO 8601, PDF's own form, RFC 2822 (as HTTP writes it) and the English "2 May 2024" and "May 2, 2024".
    """
    found = _read(written.strip()) if written else None
    return None if found is None else _plausible(found, today)


def date_of(seconds: float, today: date | None = None) -> str | None:
    """Return the date of a file's time, in seconds since 1970; None when it cannot be true."""
    try:
        return _plausible(datetime.fromtimestamp(seconds, UTC).date(), today)
    except (OverflowError, OSError, ValueError):
        return None


def _plausible(found: date, today: date | None) -> str | None:
    latest = (today or datetime.now(UTC).date()) + AHEAD
    return found.isoformat() if EARLIEST <= found <= latest else None


def _read(written: str) -> date | None:
    try:
        if match := _ISO.match(written) or _PDF.match(written):
            return date(*map(int, match.groups()))
        for form in _WRITTEN:
            if found := _written(written, form):
                return found
        return parsedate_to_datetime(written).date()
    except (ValueError, TypeError, OverflowError):
        return None


def _written(written: str, form: str) -> date | None:
    try:
        return datetime.strptime(written, form).replace(tzinfo=UTC).date()
    except ValueError:
        return None
