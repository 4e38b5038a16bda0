"""The OCR process: runs rapidocr, a few lines at a time.

Its models are part of its package, PP-OCRv6 "small" (PaddleOCR, Apache-2.0): one network finds the lines of a picture,
one detects upside-down lines, and one reads. It reads the Latin, Chinese and Japanese scripts.

After every few lines, the process waits for a message to continue. `documents/scans.py` starts the process, sends
pictures over standard input in the frames of `privacy/worker_process.py`, and receives their text over standard output.
The process ends when its standard input is closed.
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

import numpy as np
import onnxruntime
import rapidocr
from numpy.typing import NDArray
from PIL import Image
from rapidocr import RapidOCR
from rapidocr.main import RapidOCRError
from rapidocr.utils.process_img import map_boxes_to_original

from localcrag.privacy import process
from localcrag.privacy.worker_process import MOST_MEMORY, receive, send, serve
from localcrag.records.documents import ScannedLine, ScannedPage, mean_confidence, rotate_point

MODELS = Path(rapidocr.__file__).parent / "models"
DETECTOR, CLASSIFIER = "PP-OCRv6_det_small.onnx", "ch_ppocr_mobile_v2.0_cls_mobile.onnx"
RECOGNISER = "PP-OCRv6_rec_small.onnx"
LOG_FATAL_ONLY = 4
"""Level of onnxruntime's log that contains fatal errors only."""
LINES_AT_ONCE = 6
"""Lines read together: as many as rapidocr reads in one call of the network."""
LEAST_CONFIDENT = 0.5
"""Minimum confidence of a line, rapidocr's own limit; lower values mean paper grain, a drawing or a signature."""
WIDEST = 1.5
"""Maximum width of a letter, as a multiple of the line's height. If a line's letters would be wider, some of them
were not read."""
TALL = 1.5
"""Ratio of height to width above which a line runs down the page."""
LONG = 3.0
"""Ratio of width to height above which the slope of a line can be measured."""
STEEPEST = math.radians(10)
"""Maximum slope, in radians, of text on a page that was scanned slightly crooked."""

Corners = NDArray[np.float32]
"""Corners of a line, shape (4, 2): upper left, upper right, lower right, lower left in reading direction; x and y in
pixels."""
Pixels = NDArray[np.uint8]
"""Pixels of a picture, shape (height, width, 3); the colours are blue, green, red."""


class OcrEngine:
    """The three networks of text recognition."""

    def __init__(self, threads: int) -> None:
        """Load the networks; `threads` is the number of CPU threads, and 0 leaves it to onnxruntime."""
        # Without this, builds for Windows report their activity to the system's own log.
        onnxruntime.disable_telemetry_events()
        engine: Any = RapidOCR(params={"Global.log_level": "critical"})
        engine._load_det_model().session.session = _session(DETECTOR, threads)
        engine._load_cls_model().session.session = _session(CLASSIFIER, threads)
        engine._load_rec_model().session.session = _session(RECOGNISER, threads)
        self._engine = engine

    def read(self, picture: bytes, checkpoint: Callable[[], None] = lambda: None) -> ScannedPage:
        """Return a picture's text; call `checkpoint` before every few lines. Raises OSError if it is no picture."""
        pixels = _pixels(picture)
        turn, (corners, crops) = 0, self._find_lines(pixels)
        # If most lines are taller than wide, the page lies on its side.
        if sum(_height(line) > TALL * _width(line) for line in corners) > len(corners) / 2:
            turn, pixels = 90, np.ascontiguousarray(np.rot90(pixels, -1))
            corners, crops = self._find_lines(pixels)
        height, width = pixels.shape[:2]
        if self._upside_down(crops):
            turn += 180
            # Turned by 180 degrees, opposite corners change places.
            corners = [(np.array([width, height], np.float32) - line)[[2, 3, 0, 1]] for line in corners]
            crops = [np.ascontiguousarray(np.rot90(crop, 2)) for crop in crops]
        texts: list[tuple[str, float]] = [("", 0.0)] * len(crops)
        # Lines of similar length are read together, because the shorter lines of a call are padded.
        order = sorted(range(len(crops)), key=lambda place: crops[place].shape[1] / crops[place].shape[0])
        for at in range(0, len(order), LINES_AT_ONCE):
            checkpoint()
            some = order[at : at + LINES_AT_ONCE]
            read = self._engine.recognize_txt([crops[place] for place in some])
            for place, text, score in zip(some, read.txts, read.scores, strict=True):
                texts[place] = (str(text).strip(), float(score))
        slope, lines = _level_lines(corners, texts, (width, height))
        kept = tuple(line for line in lines if line.text and line.confidence >= LEAST_CONFIDENT)
        sure = mean_confidence([(line.right - line.left, line.confidence) for line in lines])
        return ScannedPage(width, height, turn, slope, kept, sure)

    def _upside_down(self, crops: Sequence[Pixels]) -> bool:
        """Return whether most lines are upside down; a single line is misjudged too often to be reliable."""
        if not crops:
            return False
        _, classified = self._engine.cls_and_rotate(list(crops))
        return [str(label) for label, _ in classified.cls_res].count("180") > len(crops) / 2

    def _find_lines(self, pixels: Pixels) -> tuple[list[Corners], list[Pixels]]:
        """Return the positions of the lines in a picture, and for each line its part of the picture, turned level."""
        image, record = self._engine.preprocess_img(pixels)
        try:
            crops, found = self._engine.detect_and_crop(image, record)
        except RapidOCRError:  # no line found
            return [], []
        height, width = pixels.shape[:2]
        return list(map_boxes_to_original(found.boxes, record, height, width)), crops


def _session(file: str, threads: int) -> Any:
    """Return a network whose threads sleep while they wait; rapidocr has no setting for that.

    Threads that spin take the CPU from other programs: with one busy program running, a page took 22 s, and 15 s with
    this setting.
    """
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = threads
    options.log_severity_level = LOG_FATAL_ONLY
    options.enable_cpu_mem_arena = False  # Otherwise the arena would never free the memory of the largest page.
    return onnxruntime.InferenceSession(str(MODELS / file), options, providers=["CPUExecutionProvider"])


def _pixels(picture: bytes) -> Pixels:
    with Image.open(io.BytesIO(picture)) as image:
        return np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])


def _level_lines(
    corners: Sequence[Corners], texts: Sequence[tuple[str, float]], size: tuple[int, int]
) -> tuple[float, list[ScannedLine]]:
    """Return the slope of a page's lines, and the lines at their positions on the levelled page."""
    slope = _median_slope([(_slope(line), _width(line)) for line in corners if _width(line) > LONG * _height(line)])
    lines = []
    for line, (text, score) in zip(corners, texts, strict=True):
        middle: list[float] = line.mean(axis=0).tolist()
        x, y = rotate_point(middle[0], middle[1], -slope, size)
        across, up = _width(line) / 2, _height(line) / 2
        # A line that is too wide for its letters was not read completely, so its confidence is lowered.
        share = min(1.0, WIDEST * len(text) * up / across) if across else 0.0
        lines.append(ScannedLine(text, score * share, x - across, y - up, x + across, y + up))
    return slope, lines


def _median_slope(slopes: Sequence[tuple[float, float]]) -> float:
    """Return the median slope, weighted by line length, of the lines that are no steeper than STEEPEST."""
    some = sorted((slope, length) for slope, length in slopes if abs(slope) < STEEPEST)
    half = sum(length for _, length in some) / 2
    passed = accumulate(length for _, length in some)
    return next((slope for (slope, _), length in zip(some, passed, strict=True) if length >= half), 0.0)


def _width(line: Corners) -> float:
    return float(np.linalg.norm(line[1] - line[0]))


def _height(line: Corners) -> float:
    return float(np.linalg.norm(line[3] - line[0]))


def _slope(line: Corners) -> float:
    """Return the slope of a line in radians, positive if it rises to the right; y counts downwards."""
    across, down = (line[1] - line[0]).tolist()
    return -math.atan2(down, across)


NICENESS = 10
"""Steps by which the priority is lowered, so that the user's other programs go first."""


def main() -> None:
    """Answer requests until standard input is closed."""
    if sys.platform != "win32":
        os.nice(NICENESS)
    serve(_answer)


@lru_cache(maxsize=1)
def _engine(threads: int) -> OcrEngine:
    return OcrEngine(threads)


def _answer(asked: dict[str, Any], picture: bytes, out: IO[bytes]) -> None:
    def wait() -> None:
        send(out, {"goes": "on?"})
        if not receive(sys.stdin.buffer):
            raise BrokenPipeError

    try:
        send(out, {"page": _engine(asked["threads"]).read(picture, wait).plain()})
    except MemoryError:
        send(out, {"error": f"that takes more than {MOST_MEMORY // 2**30} GB of memory"})
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the next page is read
        print(process.error_places(error), file=sys.stderr, flush=True)  # noqa: T201
        kind = type(error).__name__
        send(out, {"error": f"{kind} in text recognition, a fault of localcrag. The terminal says where"})
