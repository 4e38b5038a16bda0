"""The API for other programs, in the form of OpenAI's chat completions."""
