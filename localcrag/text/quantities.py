"""Quantities in one way of writing, to compare texts: "€12" and "12 euros", "5kg" and "5 kg"."""

from __future__ import annotations

import re

CURRENCIES = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "euro"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "dollar"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "pound"),
}

_CURRENCY = r"(?:[€$£]|(?:EUR|USD|GBP)\b)"
_NUMBER = r"\d(?:[\d.,]*\d)?"
_UNITS = "kg|mg|g|km|cm|mm|m|ml|l|GB|MB|TB|kB|kWh|kW|W|min|ms|h"

_PRICE = re.compile(
    rf"({_CURRENCY})[ \u00a0]?({_NUMBER}(?:(?:k|K|m|M|mn|bn)\b)?)"
    rf"|(?<!\d)(?<!\d[.,])({_NUMBER})[ \u00a0]?({_CURRENCY})(?!\d)"
)
_MINUS = re.compile(r"\bminus (?=[€$£]?\d)", re.IGNORECASE)
_TO = re.compile(rf"(?<=\d)[-–—](?={_CURRENCY})")
_PERCENT = re.compile(r"(?<=\d)\s?(?:%|per cent\b)")
_WITH_UNIT = re.compile(rf"\b(?<!\d[.,])({_NUMBER})({_UNITS})\b")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_SIGNED = re.compile(rf"(?<![\w)\]%°.,/])(?<!\d )([-−]?)(?:[€$£] ?)?({_NUMBER})")


def comparable(text: str) -> str:
    """Return a text with currencies and percent signs as words behind their numbers, and units apart from them."""
    text = _MINUS.sub("-", _TO.sub(" to ", text))
    text = _PRICE.sub(lambda found: f" {found[2] or found[3]} {CURRENCIES[(found[1] or found[4]).lower()]}", text)
    text = _WITH_UNIT.sub(r"\1 \2", _PERCENT.sub(" percent", text))
    return _ORDINAL.sub(r"\1", text)


def signed(text: str) -> list[tuple[str, bool]]:
    """Return the numbers of a text as they are written, each with whether it is below zero."""
    return [(found[2], bool(found[1])) for found in _SIGNED.finditer(text)]
