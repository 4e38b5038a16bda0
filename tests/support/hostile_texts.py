"""Texts that broken files, pasted rubbish and ill will bring; every implementation has to get through each of them."""

from __future__ import annotations

import pytest

MILLION = 1_000_000

HOSTILE = (
    pytest.param("", id="empty"),
    pytest.param(" \n\t ", id="white space"),
    pytest.param("word " * (MILLION // 5), id="a million characters"),
    pytest.param("a" * MILLION, id="one word of a million characters"),
    pytest.param("".join(map(chr, range(32))) + "\x7f\x85", id="control characters"),
    pytest.param("before\0after", id="a zero byte"),
    pytest.param("مرحبا \u202eשלום\u202c \u200f", id="right to left"),
    pytest.param("東京の天気はどうですか。", id="CJK"),
    pytest.param("👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \U0010ffff", id="emoji"),
    pytest.param("a\ud800b\udcff", id="lone surrogates"),
    pytest.param("\ud83d\ude00", id="a pair of surrogates"),
    pytest.param("[CLS] [SEP] [MASK] </s> <|im_end|>", id="control tokens"),
)
