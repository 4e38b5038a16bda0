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
"""Of a question and a text together, with the three marks of a pair."""
MOST_OF_QUESTION = 128
MARKS = 3
"""[CLS] in front, [SEP] behind the question and behind the text."""
AT_ONCE = 2_000
"""Texts that are given to the tokenizer in one call."""

Tokens = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Share:
    """Pairs of about the same length as numbers, and their lines.

    `places` says which of the step's pairs they are. `inputs` are the model's, shape (pairs, tokens); `line`, of the
    same shape, has for each token the number of its line among all of the share's, or the count of these where it is in
    none. `needed` says of each line whether a complete answer needs it, `weight` is its share of its pair, 0 for a line
    that was cut off; `marked` pairs have lines.
    """

    places: NDArray[np.int64]
    inputs: dict[str, NDArray[np.int32]]
    line: NDArray[np.int64]
    needed: NDArray[np.float32]
    weight: NDArray[np.float32]
    marked: int

    @property
    def tokens(self) -> int:
        """How many tokens its pairs have."""
        return int(self.inputs["attention_mask"].sum())


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step learns from: pairs, list by list.

    `lengths`: of its lists. `relevant`, and `wanted`: the logit to be learned in its place or not a number, shape
    (pairs,).
    """

    lengths: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    wanted: NDArray[np.float32]
    shares: list[Share]

    @property
    def tokens(self) -> int:
        """How many tokens its pairs have."""
        return sum(share.tokens for share in self.shares)


@dataclass(frozen=True, slots=True)
class Tokenised:
    """Groups as numbers.

    `tokens` are those of all texts, one behind another; text n begins at `starts[n]`. `question` and `text` say which
    texts a pair is made of; pairs `lists[n]` to `lists[n + 1]` are one list, lists `groups[n]` to `groups[n + 1]` one
    group, whose source is `sources[source[n]]`. Of pair n, the lines `line_starts[n]` to `line_starts[n + 1]` are
    known: each has first token, token behind its last, and whether a complete answer needs it. `marks`: the numbers of
    [CLS] and [SEP].
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
        """Return what a step learns from, with about `at_once` pairs in a share, each a `multiple` of tokens wide."""
        lists = np.concatenate([np.arange(self.groups[n], self.groups[n + 1]) for n in groups])
        pairs = np.concatenate([np.arange(self.lists[n], self.lists[n + 1]) for n in lists])
        shares = list(self._shares(pairs, at_once, multiple))
        return Lesson(np.diff(self.lists)[lists], self.relevant[pairs], self.wanted[pairs], shares)

    def pairs_of(self, group: int) -> int:
        """Return how many pairs a group has."""
        return int(self.lists[self.groups[group + 1]] - self.lists[self.groups[group]])

    def steps(self, order: Sequence[int], tokens: int, window: int = 2_000) -> list[list[int]]:
        """Return the groups in steps of about `tokens`, padding counted, those of about the same length in one.

        Of each `window` groups in `order`, that is: a GPU then takes a step at once, without much padding.
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
        """Yield pairs of about the same length together: else half of what is computed would be padding."""
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
    """Texts as tokens, each once."""

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
        """Return the lines of a pair's text by their tokens; a line without any begins where it ends."""
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
    """Return where each of so many begins, and where the last one ends, shape (lengths + 1,)."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)
