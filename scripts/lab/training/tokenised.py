"""Training groups as numbers: tokenise every text only once, and put training steps together.

The pairs of a step are then ready in a millisecond, so that a GPU does not wait for a tokenizer. The numbers can be
sent to a machine that has neither the documents nor the app.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.training.pairs import Group, Pair

MOST_TOKENS = 320
"""Most tokens in a question and a text together, with the three special tokens of a pair."""
MOST_OF_QUESTION = 128
MARKS = 3
"""Special tokens in a pair: [CLS] at the start, [SEP] after the question and after the text."""
AT_ONCE = 2_000
"""Texts in one call of the tokenizer."""

Tokens = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Share:
    """A batch of pairs of about the same length as numbers, and their lines.

    `places` are the positions of the pairs in the step. `inputs` are the model's, shape (pairs, tokens). `line`, of the
    same shape, has for each token the number of its line among all lines of the share, or their count if the token is
    in none. `needed` says for each line whether a complete answer needs it. `weight` is a line's share of its pair, 0
    for a line that was cut off. `marked` is true for pairs with lines.
    """

    places: NDArray[np.int64]
    inputs: dict[str, NDArray[np.int32]]
    line: NDArray[np.int64]
    needed: NDArray[np.float32]
    weight: NDArray[np.float32]
    marked: int

    @property
    def tokens(self) -> int:
        """Return the number of tokens of its pairs."""
        return int(self.inputs["attention_mask"].sum())


@dataclass(frozen=True, slots=True)
class Lesson:
    """The pairs that one step trains on, list by list.

    `lengths` are those of its lists. `relevant` is each pair's label; `wanted` is the logit to learn instead, or NaN.
    Both have shape (pairs,).
    """

    lengths: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    wanted: NDArray[np.float32]
    shares: list[Share]

    @property
    def tokens(self) -> int:
        """Return the number of tokens of its pairs."""
        return sum(share.tokens for share in self.shares)


@dataclass(frozen=True, slots=True)
class Tokenised:
    """Groups as numbers.

    `tokens` has the tokens of all texts, one after the other; text n begins at `starts[n]`. `question` and `text` are
    the numbers of a pair's two texts. Pairs `lists[n]` to `lists[n + 1]` are one list. Lists `groups[n]` to
    `groups[n + 1]` are one group, whose source is `sources[source[n]]`. Pair n has the lines `line_starts[n]` to
    `line_starts[n + 1]`: each has its first token, the token after its last, and whether a complete answer needs it.
    `marks` are the numbers of [CLS] and [SEP].
    """

    tokens: Tokens
    starts: NDArray[np.int64]
    question: NDArray[np.int32]
    text: NDArray[np.int32]
    relevant: NDArray[np.bool_]
    wanted: NDArray[np.float32]
    lines: NDArray[np.int16]
    line_starts: NDArray[np.int64]
    lists: NDArray[np.int64]
    groups: NDArray[np.int64]
    source: NDArray[np.int16]
    sources: tuple[str, ...]
    marks: tuple[int, int]

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of(cls, groups: Sequence[Group], tokenizer: Any) -> Tokenised:
        """Return groups as numbers."""
        of_groups = [[one for one in (group.passages, group.strips) if one] for group in groups]
        lists = [one for of_group in of_groups for one in of_group]
        pairs = [pair for one in lists for pair in one]
        texts = _Texts(tokenizer, [text for pair in pairs for text in (pair.question, pair.text)])
        lines = [texts.lines(pair) for pair in pairs]
        sources = tuple(dict.fromkeys(group.source for group in groups))
        return cls(
            texts.tokens,
            texts.starts,
            np.array([texts.numbers[pair.question] for pair in pairs], dtype=np.int32),
            np.array([texts.numbers[pair.text] for pair in pairs], dtype=np.int32),
            np.array([pair.relevant for pair in pairs], dtype=np.bool_),
            np.array([np.nan if pair.wanted is None else pair.wanted for pair in pairs], dtype=np.float32),
            np.array([line for of_pair in lines for line in of_pair], dtype=np.int16).reshape(-1, 3),
            _starts([len(of_pair) for of_pair in lines]),
            _starts([len(one) for one in lists]),
            _starts([len(of_group) for of_group in of_groups]),
            np.array([sources.index(group.source) for group in groups], dtype=np.int16),
            sources,
            (tokenizer.cls_token_id, tokenizer.sep_token_id),
        )

    def lesson(self, groups: Sequence[int] | NDArray[np.int64], at_once: int, *, multiple: int = 1) -> Lesson:
        """Return the lesson of a step, with about `at_once` pairs in a share, padded to a `multiple` of tokens."""
        lists = np.concatenate([np.arange(self.groups[n], self.groups[n + 1]) for n in groups])
        pairs = np.concatenate([np.arange(self.lists[n], self.lists[n + 1]) for n in lists])
        shares = list(self._shares(pairs, at_once, multiple))
        return Lesson(np.diff(self.lists)[lists], self.relevant[pairs], self.wanted[pairs], shares)

    def pairs_of(self, group: int) -> int:
        """Return the number of pairs in a group."""
        return int(self.lists[self.groups[group + 1]] - self.lists[self.groups[group]])

    def steps(self, order: Sequence[int], tokens: int, window: int = 2_000) -> list[list[int]]:
        """Split the groups into steps of about `tokens` tokens, including padding, with similar lengths in each.

        They are sorted by length within each `window` groups of `order`, so that a GPU processes a step at once without
        much padding.
        """
        lengths = np.diff(self.starts)
        of_pairs = np.minimum(lengths[self.question] + lengths[self.text] + MARKS, MOST_TOKENS)
        starts = self.lists[self.groups]
        longest = np.maximum.reduceat(of_pairs, starts[:-1])
        pairs = np.diff(starts)
        steps: list[list[int]] = []
        for at in range(0, len(order), window):
            step: list[int] = []
            for group in sorted(order[at : at + window], key=lambda group: int(longest[group])):
                if step and (pairs[step].sum() + pairs[group]) * longest[group] > tokens:
                    steps.append(step)
                    step = []
                step.append(group)
            steps.append(step)
        return steps

    def _shares(self, pairs: NDArray[np.int64], at_once: int, multiple: int) -> Iterator[Share]:
        """Yield shares of pairs of about the same length; otherwise, half of the computation would be for padding."""
        lengths = np.diff(self.starts)
        order = np.argsort(lengths[self.question[pairs]] + lengths[self.text[pairs]], kind="stable")
        for places in np.array_split(order, max(1, round(len(pairs) / at_once))):
            yield self._share(places, pairs[places], multiple)

    def _share(self, places: NDArray[np.int64], pairs: NDArray[np.int64], multiple: int) -> Share:
        questions = [self._tokens(number)[:MOST_OF_QUESTION] for number in self.question[pairs]]
        texts = [
            self._tokens(number)[: MOST_TOKENS - MARKS - len(question)]
            for number, question in zip(self.text[pairs], questions, strict=True)
        ]
        width = MARKS + max(len(one) + len(other) for one, other in zip(questions, texts, strict=True))
        width = -(-width // multiple) * multiple
        ids, types, mask = (np.zeros((len(pairs), width), dtype=np.int32) for _ in range(3))
        line = np.full((len(pairs), width), -1, dtype=np.int64)
        needed: list[float] = []
        weight: list[float] = []
        marked = 0
        for row, (pair, question, text) in enumerate(zip(pairs, questions, texts, strict=True)):
            begin = len(question) + 2
            end = begin + len(text)
            ids[row, 0], ids[row, begin - 1], ids[row, end] = self.marks[0], self.marks[1], self.marks[1]
            ids[row, 1 : begin - 1], ids[row, begin:end] = question, text
            types[row, begin : end + 1] = 1
            mask[row, : end + 1] = 1
            lines = self.lines[self.line_starts[pair] : self.line_starts[pair + 1]].tolist()
            seen = sum(first < min(last, len(text)) for first, last, _ in lines)
            for first, last, of_answer in lines:
                line[row, begin + first : begin + min(last, len(text))] = len(needed)
                needed.append(of_answer)
                weight.append((first < min(last, len(text))) / max(seen, 1))
            marked += bool(seen)
        line[line < 0] = len(needed)
        given = (np.array(needed, dtype=np.float32), np.array(weight, dtype=np.float32))
        return Share(places, {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}, line, *given, marked)

    def _tokens(self, number: int) -> Tokens:
        return self.tokens[self.starts[number] : self.starts[number + 1]]


class _Texts:
    """Texts as tokens, each stored once."""

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        different = list(dict.fromkeys(texts))
        self.numbers = {text: number for number, text in enumerate(different)}
        of_texts: list[Tokens] = []
        self._offsets: list[NDArray[np.int32]] = []
        for at in range(0, len(different), AT_ONCE):
            read = tokenizer(
                different[at : at + AT_ONCE],
                add_special_tokens=False,
                truncation=True,
                max_length=MOST_TOKENS,
                return_offsets_mapping=True,
            )
            of_texts += [np.array(one, dtype=np.int32) for one in read["input_ids"]]
            self._offsets += [np.array(one, dtype=np.int32).reshape(-1, 2) for one in read["offset_mapping"]]
        self.tokens = np.concatenate(of_texts)
        self.starts = _starts([len(one) for one in of_texts])

    def lines(self, pair: Pair) -> list[tuple[int, int, bool]]:
        """Return the token ranges of the lines of a pair's text; a line without tokens has an empty range."""
        if not (lines := pair.marked):
            return []
        offsets = self._offsets[self.numbers[pair.text]]
        found, before = [], 0
        for start, end, needed in lines:
            own = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > start))
            own = own[own >= before]
            before = int(own[-1]) + 1 if len(own) else before
            found.append((int(own[0]) if len(own) else before, before, needed))
        return found


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the start of each item by the lengths, and the end of the last one, shape (lengths + 1,)."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)
