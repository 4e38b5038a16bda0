"""Dates, times and quantities in one canonical form, so that texts can be compared."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime

EARLIEST = date(1990, 1, 1)
"""Earliest plausible date of a document. It is before HTML (1993), PDF (1993) and DOCX (2007), and after the zero of
every clock that a program may have written instead of a date: 1601 (Windows), 1899 and 1904 (Office), 1970 (Unix),
1980 (ZIP)."""
FUTURE_TOLERANCE = timedelta(days=1)
"""Time that a date may be in the future, because it is already tomorrow in eastern time zones."""

_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_PDF = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})(?=\d{2}|$|[ TZ+-])")
"""Date of a PDF: D:YYYYMMDDHHmmSS (ISO 32000-1, section 7.9.4). Later parts may be missing, but a day is required."""
_DATE_FORMATS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y")


def iso_date(written: str | None, today: date | None = None) -> str | None:
    """Return a date as YYYY-MM-DD, without its time of day; None if the text is not a date, or not a plausible one.

    Accepted are ISO 8601, PDF's format, RFC 2822 (as in HTTP) and the English "2 May 2024" and "May 2, 2024".
    """
    found = _parse_date(written.strip()) if written else None
    return None if found is None else _plausible(found, today)


def file_date(seconds: float, today: date | None = None) -> str | None:
    """Return the date of a file's timestamp in seconds since 1970; None if it is not plausible."""
    try:
        return _plausible(datetime.fromtimestamp(seconds, UTC).date(), today)
    except (OverflowError, OSError, ValueError):
        return None


def _plausible(found: date, today: date | None) -> str | None:
    latest = (today or datetime.now(UTC).date()) + FUTURE_TOLERANCE
    return found.isoformat() if EARLIEST <= found <= latest else None


def _parse_date(written: str) -> date | None:
    try:
        if match := _ISO_DATE.match(written) or _PDF.match(written):
            return date(*map(int, match.groups()))
        for form in _DATE_FORMATS:
            with suppress(ValueError):
                return datetime.strptime(written, form).replace(tzinfo=UTC).date()
        return parsedate_to_datetime(written).date()
    except (ValueError, TypeError, OverflowError):
        return None


MONTHS = "January February March April May June July August September October November December".split()
NOON = 12
SHORT_MONTHS = {month[:3]: month for month in MONTHS} | {"Sept": "September"}
MONTH_NUMBERS = {name.lower(): 1 + MONTHS.index(month) for month in MONTHS for name in (month, month[:3])} | {"sept": 9}
"""Numbers of the months by their names, long and short, in lower case."""

_ABBREVIATED = re.compile(
    rf"(?:(?<=\d )|\b(?=\w+\.? \d))({'|'.join(sorted(SHORT_MONTHS, reverse=True))})\b(?:\.(?= ))?"
)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d\d?)(?:st|nd|rd|th)?(?![\d:]|[.,]\d)(?:,(?= \d{{4}}\b))?")
_HALF = re.compile(r"(?<![\d:.,])(\d\d?)(?:[:.]([0-5]\d))? ?([ap])\.?m\b", re.IGNORECASE)
_TIME = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4]):([0-5]\d)(?![\d:]|[.,]\d| [ap]\.m\b)")


def comparable_moments(text: str) -> str:
    """Return a text with dates as "1 March 2026" or "1 march 2026", and times as "6:30 p.m".

    "8:00" becomes "8", because it may be in the morning or in the evening. "08:00" becomes "8 a.m", and so does "8:00"
    if the text also has a time such as "18:00". The form is "a.m" because "am" is also a word.
    """
    text = _ABBREVIATED.sub(lambda found: SHORT_MONTHS[found[1]], text)
    text = _HALF.sub(_twelve_hour_time, _MONTH_FIRST.sub(r"\2 \1", _ISO.sub(_date, text)))
    # A time after 12:59 shows that the text uses the 24-hour clock, so its other times are unambiguous, too.
    counts_to_24 = any(int(hour) > NOON for hour, _ in _TIME.findall(text))

    def time(found: re.Match[str]) -> str:
        hour = int(found[1])
        message = _short(str(hour % NOON or NOON), found[2])
        if 0 < hour <= NOON and not (counts_to_24 or found[1].startswith("0")):
            return message
        return f"{message} {'p' if NOON <= hour < 2 * NOON else 'a'}.m"

    return _TIME.sub(time, text)


def _date(found: re.Match[str]) -> str:
    month = int(found[2])
    # In lower case, so that the month does not look like a name in a text that had none.
    return f"{int(found[3])} {MONTHS[month - 1].lower()} {found[1]}" if 0 < month <= len(MONTHS) else found[0]


def _twelve_hour_time(found: re.Match[str]) -> str:
    return f"{_short(found[1], found[2])} {found[3].lower()}.m"


def _short(hour: str, minutes: str | None) -> str:
    """Return a time without a leading zero, and without minutes if they are missing or 00."""
    return str(int(hour)) + (f":{minutes}" if minutes and minutes != "00" else "")


CURRENCIES = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "euro"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "dollar"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "pound"),
}
_POWERS = {
    **dict.fromkeys(("k", "thousand"), 1_000),
    **dict.fromkeys(("m", "mn", "million"), 1_000_000),
    **dict.fromkeys(("bn", "billion"), 1_000_000_000),
}
UNITS = {
    "g": "gram", "kg": "kilogram", "kgs": "kilogram", "mg": "milligram",
    "m": "metre", "km": "kilometre", "kms": "kilometre", "cm": "centimetre", "mm": "millimetre",
    "l": "litre", "ml": "millilitre",
    "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    **{f"{size}{unit}{s}": f"{size}{unit[:-2]}re"
       for size in ("", "kilo", "centi", "milli") for unit in ("meter", "liter") for s in ("", "s")},
}  # fmt: skip
"""Units by their abbreviations and American spellings; other units are only separated from their numbers."""
KINDS = {
    **{name: name for name in (*CURRENCIES.values(), *UNITS.values(), "percent", "day", "week", "month", "year")},
    **dict.fromkeys(("a.m", "p.m"), "time of day"),
}
"""Kinds of quantity, by the word after the number in the output of `comparable`."""

_CURRENCY = r"(?:[€$£]|(?:EUR|USD|GBP|(?<=\d )(?:eur|usd|gbp))(?![A-Za-z]))"
_NUMBER = r"\d(?:[\d.,]*\d)?"
_SHORT_POWER = r"(?:(?:k|K|m|M|mn|bn)\b| (?:thousand|million|billion)\b)"
_SIGN = r"[-−–‑]"
_WRITTEN_UNIT = "|".join(UNITS)

_MINUS = re.compile(r"\bminus (?=[€$£]?\d)", re.IGNORECASE)
_CENTS = re.compile(r"(?<![\d.,:])(\d[\d.,]*)[.,]00(?![\d.,:]*\d)")
_RANGE = re.compile(
    rf"(?<![\w.,/-])((?:[€$£] ?)?{_NUMBER}(?: ?(?:°C|°F|%|€))?)(?: ?[-–—‑] ?)"
    rf"(?=(?:[€$£] ?)?{_NUMBER}(?!\d|[-–‑/:]\d))"
)
"""A range such as "3–5", "€10-20" or "2 °C – 8 °C"; dates ("2024-05-01"), telephone numbers and codes do not match."""
_PRICES = re.compile(
    rf"([€$£])( ?{_NUMBER} to )(?={_NUMBER}(?![\d.,]*\d)(?! ?(?:%|per ?cent\b|°|(?:{_WRITTEN_UNIT})\b)))"
)
_PRICE = re.compile(
    rf"((?<!\w){_SIGN})?({_CURRENCY})[ \u00a0]?({_NUMBER})({_SHORT_POWER})?"
    rf"|(?<!\d)(?<!\d[.,])({_NUMBER})({_SHORT_POWER})?[ \u00a0]?({_CURRENCY})(?!\d)"
)
_LARGE = re.compile(
    rf"(?<!\d)(?<!\d[.,])({_NUMBER})(?:[ \u00a0](thousand|million|billion)\b"
    r"|(k|K|m|M|mn|bn)(?=[ \u00a0](?:euros?|dollars?|pounds?)\b))"
)
_PERCENT = re.compile(r"(?<=\d)\s?(?:%|per cent\b)")
_WITH_UNIT = re.compile(
    rf"\b(?<!\d[.,])({_NUMBER})(?:[ \u00a0]?({_WRITTEN_UNIT})|(GB|MB|TB|kB|kWh|kW|W|ms))\b"
)  # fmt: skip
_PER = re.compile(r"\bper (?=[a-z])")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_SIGNED = re.compile(rf"(?<![\w)\]%°.,/])(?<!\d )(?<![ap]m )(?<![ap]\.m )({_SIGN}?)(?:[€$£] ?)?({_NUMBER})")


def comparable(text: str) -> str:
    """Return a text with currencies, percent signs and units as words after their numbers, and ranges with "to".

    Cents of 00 are removed, "per month" becomes "a month", and thousands, millions and billions are multiplied out.
    Dates and times are those of `comparable_moments`.
    """
    text = comparable_moments(_MINUS.sub("-", text))
    text = _RANGE.sub(r"\1 to ", _CENTS.sub(r"\1", text))
    text = _PRICE.sub(_price, _PRICES.sub(r"\1\2\1", text))
    text = _LARGE.sub(lambda found: _times(found[1], found[2] or found[3]), text)
    text = _WITH_UNIT.sub(lambda found: f"{found[1]} {UNITS.get(found[2], found[3])}", _PERCENT.sub(" percent", text))
    return _PER.sub("a ", _ORDINAL.sub(r"\1", text))


def signed_numbers(text: str) -> list[tuple[str, bool]]:
    """Return the numbers of a text as written, each with True if it is negative."""
    return [(found[2], bool(found[1])) for found in _SIGNED.finditer(text)]


def _price(found: re.Match[str]) -> str:
    sign, before, number, power, other_number, other_power, behind = found.groups()
    amount = _times(number or other_number, (power or other_power or "").strip())
    return f" {'-' if sign else ''}{amount} {CURRENCIES[(before or behind).lower()]}"


def _times(number: str, power: str) -> str:
    """Return a number multiplied by a power ("2.5", "million"); unchanged if it has no power or is not a number."""
    if not power:
        return number
    # A comma between groups of three digits separates thousands; any other comma is a decimal point.
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number)
    try:
        value = Decimal(number.replace(",", "" if grouped else ".")) * _POWERS[power.lower()]
    except InvalidOperation:
        return f"{number} {power}"
    return f"{value.normalize():f}"
