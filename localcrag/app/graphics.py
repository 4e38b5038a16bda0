"""Graphics processors in words: what was found, what uses it, and how to get builds that do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from localcrag.backends.models.graphics import Found, Graphics, found, uses_graphics
from localcrag.text.translation import gettext as _

FLAGS = {Graphics.CUDA: "-DGGML_CUDA=on", Graphics.METAL: "-DGGML_METAL=on", Graphics.VULKAN: "-DGGML_VULKAN=on"}
"""How llama.cpp is built, as https://github.com/abetlen/llama-cpp-python says under “Supported Backends”."""
NEEDS = {Graphics.CUDA: "CUDA Toolkit (nvcc)", Graphics.METAL: "Xcode", Graphics.VULKAN: "Vulkan SDK (glslc)"}
TORCH_SAYS = "https://pytorch.org/get-started/locally/"


@dataclass(frozen=True, slots=True)
class Advice:
    """What would use a graphics processor that is not used: in words, and the command."""

    words: str
    command: str


@dataclass(frozen=True, slots=True)
class GraphicsReport:
    """What was found, in a sentence, and what can be done about it."""

    said: str
    advice: tuple[Advice, ...] = ()

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        return [self.said, *(line for one in self.advice for line in (one.words, f"    {one.command}"))]


def report() -> GraphicsReport:
    """Look at this machine and at what is installed."""
    return told(found(), uses_graphics("llama_cpp"), uses_graphics("torch"))


def told(there: tuple[Found, ...], llama: frozenset[Graphics], torch: frozenset[Graphics]) -> GraphicsReport:
    """Say what was found, and of what is not used, how it can be."""
    if not there:
        return GraphicsReport(
            _(
                "No graphics processor was found that models can use (CUDA, Metal, Vulkan): they run on the processor, "
                "and there is nothing to set up."
            )
        )
    named = "; ".join(f"{one.graphics} ({', '.join(one.names)})" if one.names else one.graphics for one in there)
    usable = {one.graphics for one in there}
    users = [name for name, built in (("llama-cpp-python", llama), ("torch", torch)) if built & usable]
    used = _("used by %(what)s", what=", ".join(users)) if users else _("not used: what is installed is for processors")
    advice = []
    if not llama & usable:
        advice.append(_llama(there[0].graphics))
    if Graphics.CUDA in usable and Graphics.CUDA not in torch:
        advice.append(_torch())
    return GraphicsReport(_("Found: %(what)s, %(used)s.", what=named, used=used), tuple(advice))


def _llama(graphics: Graphics) -> Advice:
    flag = FLAGS[graphics]
    install = (
        f"{_pip()} install --force-reinstall --no-cache-dir --no-deps llama-cpp-python=={_version('llama-cpp-python')}"
    )
    command = f'$env:CMAKE_ARGS="{flag}"; {install}' if sys.platform == "win32" else f"CMAKE_ARGS={flag} {install}"
    words = _(
        "The language model, with %(graphics)s: this compiles llama.cpp, and needs the %(needs)s.",
        graphics=graphics, needs=NEEDS[graphics],
    )  # fmt: skip
    return Advice(words, command)


def _torch() -> Advice:
    wanted = _version("torch").partition("+")[0]
    words = _("Embedder and relevance model, with CUDA: INDEX is what %(page)s shows for your CUDA.", page=TORCH_SAYS)
    return Advice(words, f"{_pip()} install --force-reinstall torch=={wanted} --index-url INDEX")


def _pip() -> str:
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"{'& ' if sys.platform == 'win32' and python[0] == chr(34) else ''}{python} -m pip"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
