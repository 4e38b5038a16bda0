"""What an error says is shown as text, whatever it quotes."""

from __future__ import annotations

import gradio as gr
import pytest

from localcrag.interfaces.page.handlers import showing_errors
from tests.support.script_injections import INJECTIONS


def test_what_an_error_says_is_text_also_where_nobody_foresaw_it() -> None:
    with pytest.raises(gr.Error) as told, showing_errors():
        raise ValueError(INJECTIONS[0])
    assert told.value.message == "&lt;script&gt;top.hit++&lt;/script&gt;"
