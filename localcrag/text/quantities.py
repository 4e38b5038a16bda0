"""Quantities in one way of writing, to compare texts: "€12" and "12 euros", "3–5" and "3 to 5"."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from localcrag.text.moments import comparable_moments

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
"""What units are written as, American spelling among them; others are set apart from their numbers only."""
KINDS = {
    **{name: name for name in (*CURRENCIES.values(), *UNITS.values(), "percent", "day", "week", "month", "year")},
    **dict.fromkeys(("a.m", "p.m"), "time of day"),
}
"""What kind of quantity a word behind a number makes it, as `comparable` writes them."""

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
"""A range, as "3–5", "€10-20" and "2 °C – 8 °C" are; a date ("2024-05-01"), a telephone number and a code are none."""
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
    """Return a text with currencies, percent signs and units as words behind their numbers, and ranges with "to".

    Cents of 00 are left out, "per month" is "a month", thousands, millions and billions are multiplied out; dates and
    times are as `comparable_moments` has them.
    """
    text = comparable_moments(_MINUS.sub("-", text))
    text = _RANGE.sub(r"\1 to ", _CENTS.sub(r"\1", text))
    text = _PRICE.sub(_price, _PRICES.sub(r"\1\2\1", text))
    text = _LARGE.sub(lambda found: _times(found[1], found[2] or found[3]), text)
    text = _WITH_UNIT.sub(_unit, _PERCENT.sub(" percent", text))
    return _PER.sub("a ", _ORDINAL.sub(r"\1", text))


def signed(text: str) -> list[tuple[str, bool]]:
    """Return the numbers of a text as they are written, each with whether it is below zero."""
    return [(found[2], bool(found[1])) for found in _SIGNED.finditer(text)]


def _price(found: re.Match[str]) -> str:
    sign, before, number, power, other_number, other_power, behind = found.groups()
    amount = _times(number or other_number, (power or other_power or "").strip())
    return f" {'-' if sign else ''}{amount} {CURRENCIES[(before or behind).lower()]}"


def _times(number: str, power: str) -> str:
    """Return a number multiplied out, as it is written where there is nothing to multiply or it is no number."""
    if not power:
        return number
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number)
    try:
        value = Decimal(number.replace(",", "" if grouped else ".")) * _POWERS[power.lower()]
    except InvalidOperation:
        return f"{number} {power}"
    return f"{value.normalize():f}"


def _unit(found: re.Match[str]) -> str:
    return f"{found[1]} {UNITS[found[2]] if found[2] else found[3]}"
