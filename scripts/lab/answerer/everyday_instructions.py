"""Print answers of language models to fifty everyday instructions, to see what training has damaged.

    .venv/bin/python scripts/lab/answerer/everyday_instructions.py MODEL...

MODEL is a name that `localcrag models list` shows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.settings import load
from localcrag.text.words import one_line

ROOT = Path(__file__).resolve().parents[3]


MAX_TOKENS = 80
INSTRUCTIONS = """\
Write a short thank-you note to a neighbour who watered my plants.
List five fruits that are yellow.
What is the capital of France?
Explain in two sentences what rain is.
Translate into French: Good morning, how are you?
Write a haiku about winter.
Give me three tips for sleeping better.
What is 7 times 8?
Put these words in alphabetical order: pear, apple, fig.
Write one sentence about a dog, in the past tense.
Suggest a name for a small bakery.
How do I boil an egg?
Name three countries in South America.
Make this polite: Send me the report now.
What is the opposite of "expensive"?
Write a two-line birthday wish for a colleague.
Say why the sky is blue, for a child.
Give me a title for a story about a lost key.
Which month comes after April?
Turn this into a question: The shop opens at nine.
Write a shopping list for pancakes.
What does "to procrastinate" mean?
Correct the grammar: She don't like tea.
Name two animals that can fly.
Write a short e-mail to say that I am ill today.
How many days has a leap year?
Describe a beach in one sentence.
What should I pack for a day in the mountains?
Give me a synonym for "happy".
Write a slogan for a bicycle shop.
Sum up: The meeting was moved from Monday to Thursday because the room was not free.
What is a verb?
Tell me a short joke.
Write the number 42 in words.
How do I take care of a cactus?
Name the four seasons.
Invite a friend to dinner on Saturday, in two sentences.
What do bees make?
Write a sentence that contains the words "river" and "bridge".
Give me two reasons to learn to swim.
What is the largest planet of the solar system?
Begin a story with "The door was open".
Is a tomato a fruit or a vegetable?
How can I save electricity at home? Give three ways.
Write a polite refusal of an invitation.
Which is heavier, a kilogram of iron or a kilogram of feathers?
Describe the taste of a lemon.
Name a famous painter and one of the paintings.
What is the plural of "mouse"?
Give me a plan for a rainy Sunday, in three steps.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    models = {name: Assembly(load(llm=name)) for name in parser.parse_args().models}
    for number, instruction in enumerate(INSTRUCTIONS.splitlines(), start=1):
        print(f"\n{number}. {instruction}")
        for name, assembly in models.items():
            written = "".join(
                assembly.models.llm.stream([Message("user", instruction)], Decoding(max_tokens=MAX_TOKENS))
            )
            print(f"   {name}: {one_line(written)}", flush=True)


if __name__ == "__main__":
    main()
