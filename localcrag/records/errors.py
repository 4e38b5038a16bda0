"""The error tree. Every message says what happened, to which file or address, and what to do next.

LocalcragError
├── SettingsError            a setting, variable or command-line value is not valid
├── QuestionError            the question is empty or far too long
├── ModelError               a model cannot be used
│   ├── ModelMissing         a model is missing: the message names the command that downloads it
│   ├── ModelDamaged         a file's checksum differs from the manifest's, or a library cannot load it
│   ├── DownloadFailed       a download could not be finished: offline, refused, disk full
│   └── ServerError          a model server refused the request, failed, or gave an unusable answer
│       ├── ServerNotRunning nothing answers at its address
│       ├── ServerPathMissing     it has no such path: another program, or a server for something else
│       └── ServerNotApproved  it is on another computer, and the user has not approved it, or a preset forbids it
├── DocumentError            one document could not be read; the others of the same call are still added
│   ├── IngestError          raised by `Localcrag.add`, with the results of the added files and of the failed ones
│   ├── UnsupportedDocument  no reader for this kind of file
│   ├── UnreadableDocument   damaged, truncated, or not what its name says
│   ├── EncryptedDocument    needs a password
│   └── EmptyDocument        contains no text (an image-only PDF, say)
├── FolderError              a folder cannot be watched, or is not being watched
├── StoreError               the database or a vector index failed, or something named is not in it
│   ├── IndexFileError       the file of a vector index could not be written or removed
│   ├── UnknownCollection    no collection of that name
│   ├── UnknownDocument      no document of that name in the collection
│   ├── UnknownRun           no stored run of that id
│   ├── UnknownChat          no chat of that id
│   ├── NameRefused          a name for a document or collection that is taken, empty or too long
│   └── EmbedderMismatch     the collection was indexed with another embedding model
├── SearchError              a web search gave no results; the subclasses differ in what the user can do
│   ├── EndpointRefused      the address is public, not http(s), or redirects to another host
│   ├── SearchNotRunning     nothing listens there
│   ├── SearchTimeout        no answer in time
│   ├── JsonDisabled         403: SearXNG's JSON format is off
│   ├── RateLimited          429: SearXNG's limiter
│   ├── BadSearchAnswer      not the JSON that SearXNG writes
│   ├── AllEnginesFailed     no results, because the engines behind SearXNG failed
│   ├── NoResults            the engines answered and found nothing
│   ├── ForbiddenTerm        the query contains a term that may never be sent, so it was not sent
│   └── ConsentMissing       the user did not answer whether the query may be sent, so it was not sent
├── EgressRefused            a connection, name look-up or program was blocked; also a ConnectionError
├── ChatBusy                 a chat's last question is still being answered
├── ReportError              exported runs could not be written
├── LabelError               a label or pin refers to something its run does not have, or there is nothing to export
├── GapError                 a run has no web text to add, or the collection has it already
├── EvaluationError          an evaluation or calibration cannot be done, or its results cannot be read
│   └── EvaluationSetError   a folder is not an evaluation set, or lines of it are invalid
└── GenerationError          the language model failed, or the prompt does not fit its context window
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

    from localcrag.records.ingest import IngestResult


def describe_problems(error: ValidationError) -> str:
    """Return what is wrong with data that pydantic refused, each problem after the name of its field."""
    problems = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        problems.append(f"{where}: {what}" if where else what)
    return "; ".join(problems)


class LocalcragError(Exception):
    """Base class of all errors that localcrag raises on purpose; `str(error)` is a message for the user."""


class SettingsError(LocalcragError):
    """A setting, variable or command-line value is not valid."""


class QuestionError(LocalcragError):
    """The question is empty or far too long."""


class ModelError(LocalcragError):
    """A model cannot be used."""


class ModelMissing(ModelError):
    """A model is missing."""


class ModelDamaged(ModelError):
    """A model file does not match its checksum, or a library cannot load it."""


class DownloadFailed(ModelError):
    """A download could not be finished."""


class ServerError(ModelError):
    """A model server refused the request, failed, or gave an unusable answer."""


class ServerNotRunning(ServerError):
    """Nothing answers at a model server's address."""


class ServerPathMissing(ServerError):
    """A model server has no such path."""


class ServerNotApproved(ServerError):
    """A model server is on another computer, and the user has not approved it, or a preset forbids it."""


class DocumentError(LocalcragError):
    """One document could not be read."""


class IngestError(DocumentError):
    """Some files of a call could not be added; `added` and `failed` are the results of the files.

    Both are in the order in which the files were given, and each result in `failed` has its `error`.
    """

    def __init__(self, added: Sequence[IngestResult], failed: Sequence[IngestResult]) -> None:
        super().__init__("\n".join(one.error or one.document for one in failed))
        self.added, self.failed = tuple(added), tuple(failed)

    def __reduce__(self) -> tuple[type[IngestError], tuple[tuple[IngestResult, ...], tuple[IngestResult, ...]]]:
        """Return the arguments that pickle needs to restore the error; by default it would pass the message alone."""
        return IngestError, (self.added, self.failed)


class UnsupportedDocument(DocumentError):
    """There is no reader for this kind of file."""


class UnreadableDocument(DocumentError):
    """The file is damaged, truncated, or not of the kind that its name says."""


class EncryptedDocument(DocumentError):
    """The file needs a password."""


class PasswordNeeded(EncryptedDocument):
    """The file can be opened with its password; `known` is a password that programs try without asking, if any."""

    known: str | None = None


class EmptyDocument(DocumentError):
    """The file contains no text."""


class FolderError(LocalcragError):
    """The folder cannot be watched, or is not being watched."""


class StoreError(LocalcragError):
    """The database or a vector index failed, or something named is not in it."""


class IndexFileError(StoreError):
    """The file of a vector index could not be written or removed; it can be rebuilt from the database."""


class UnknownCollection(StoreError):
    """There is no collection of that name."""


class UnknownDocument(StoreError):
    """The collection has no document of that name."""


class UnknownRun(StoreError):
    """There is no stored run with that id."""


class UnknownChat(StoreError):
    """There is no chat with that id."""


class NameRefused(StoreError):
    """The name for a document or collection is taken, empty or too long."""


class ChatBusy(LocalcragError):
    """A chat's last question is still being answered."""


class EmbedderMismatch(StoreError):
    """The collection was indexed with another embedding model."""


class SearchError(LocalcragError):
    """A web search gave no results."""


class EndpointRefused(SearchError):
    """The search address is public, not http(s), or redirects to another host."""


class SearchNotRunning(SearchError):
    """Nothing listens at the search address."""


class SearchTimeout(SearchError):
    """The search server did not answer in time."""


class JsonDisabled(SearchError):
    """SearXNG's JSON format is switched off."""


class RateLimited(SearchError):
    """SearXNG's limiter refused the query."""


class BadSearchAnswer(SearchError):
    """The answer is not JSON as SearXNG writes it."""


class AllEnginesFailed(SearchError):
    """There are no results because the engines behind SearXNG failed."""


class NoResults(SearchError):
    """The engines answered and found nothing."""


class ForbiddenTerm(SearchError):
    """The query contains a term that may never be sent, so it was not sent."""


class ConsentMissing(SearchError):
    """The user did not answer whether the query may be sent, so it was not sent."""


class EgressRefused(LocalcragError, ConnectionError):
    """The egress guard blocked a connection, a name look-up or the start of a program.

    It is also a ConnectionError, so that libraries handle it as if the network were down.
    """


class ReportError(LocalcragError):
    """Exported runs could not be written."""


class LabelError(LocalcragError):
    """A label or pin refers to something its run does not have, or there is nothing to export."""


class GapError(LocalcragError):
    """A run has no web text to add, or the collection has it already."""


class EvaluationError(LocalcragError):
    """An evaluation or calibration cannot be done, or its results cannot be read."""


class EvaluationSetError(EvaluationError):
    """A folder is not an evaluation set, or lines of it are invalid."""


class GenerationError(LocalcragError):
    """The language model failed, or the prompt does not fit its context window."""
