"""Quantities in one way of writing, to compare texts: "€12" and "12 euros", "3–5" and "3 to 5"."""

from __future__ import annotations

import re

CURRENCIES = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "euro"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "dollar"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "pound"),
}
_WRITTEN_OUT = {
    "g": "gram", "kg": "kilogram", "mg": "milligram", "m": "metre", "km": "kilometre", "cm": "centimetre",
    "mm": "millimetre", "l": "litre", "ml": "millilitre", "min": "minute", "h": "hour",
}  # fmt: skip
_POWERS = {"k": "thousand", "m": "million", "mn": "million", "bn": "billion"}

_CURRENCY = r"(?:[€$£]|(?:EUR|USD|GBP|(?<=\d )(?:eur|usd|gbp))(?![A-Za-z]))"
_NUMBER = r"\d(?:[\d.,]*\d)?"
_POWER = r"(?:(?:k|K|m|M|mn|bn)\b| (?:thousand|million|billion)\b)"
_SIGN = r"[-−–‑]"

_PRICE = re.compile(
    rf"((?<!\w){_SIGN})?({_CURRENCY})[ \u00a0]?({_NUMBER})({_POWER})?"
    rf"|(?<!\d)(?<!\d[.,])({_NUMBER})({_POWER})?[ \u00a0]?({_CURRENCY})(?!\d)"
)
_MINUS = re.compile(r"\bminus (?=[€$£]?\d)", re.IGNORECASE)
_UNIT_BETWEEN = r"(?: ?(?:°C|°F|%|€))?"
_RANGE = re.compile(
    rf"(?<![\w.,/-])((?:[€$£] ?)?{_NUMBER}{_UNIT_BETWEEN})(?: ?[-–—‑] ?)(?=(?:[€$£] ?)?{_NUMBER}(?!\d|[-–‑/:]\d))"
)
"""A range, as "3–5", "€10-20" and "2 °C – 8 °C" are; a date ("2024-05-01"), a telephone number and a code are none."""
_PRICES = re.compile(rf"([€$£])( ?{_NUMBER} to )(?={_NUMBER})")
_PERCENT = re.compile(r"(?<=\d)\s?(?:%|per cent\b)")
_WITH_UNIT = re.compile(
    rf"\b(?<!\d[.,])({_NUMBER})(?:[ \u00a0]?({'|'.join(_WRITTEN_OUT)})|(GB|MB|TB|kB|kWh|kW|W|ms))\b"
)
_CENTS = re.compile(r"(?<=\d)[.,]00\Z")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_SIGNED = re.compile(rf"(?<![\w)\]%°.,/])(?<!\d )({_SIGN}?)(?:[€$£] ?)?({_NUMBER})")


def comparable(text: str) -> str:
    """Return a text with currencies, percent signs and units as words behind their numbers, and ranges with "to"."""
    text = _PRICES.sub(r"\1\2\1", _RANGE.sub(r"\1 to ", _MINUS.sub("-", text)))
    text = _WITH_UNIT.sub(_unit, _PERCENT.sub(" percent", _PRICE.sub(_price, text)))
    return _ORDINAL.sub(r"\1", text)


def _price(found: re.Match[str]) -> str:
    sign, before, number, power, other_number, other_power, behind = found.groups()
    amount, times = _CENTS.sub("", number or other_number), (power or other_power or "").strip()
    named = f" {_POWERS.get(times.lower(), times)}" if times else ""
    return f" {'-' if sign else ''}{amount}{named} {CURRENCIES[(before or behind).lower()]}"


def _unit(found: re.Match[str]) -> str:
    return f"{found[1]} {_WRITTEN_OUT[found[2]] if found[2] else found[3]}"


def signed(text: str) -> list[tuple[str, bool]]:
    """Return the numbers of a text as they are written, each with whether it is below zero."""
    return [(found[2], bool(found[1])) for found in _SIGNED.finditer(text)]
