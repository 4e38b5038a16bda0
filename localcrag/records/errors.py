"""The error tree. Every message says what happened, to which file or address, and what to do next.

LocalcragError
├── SettingsError            a setting, variable or command-line value is not valid
├── QuestionError            the question is empty or far too long
├── ModelError               something about model files
│   ├── ModelMissing         a model is not there: the message names the command that gets it
│   ├── ModelDamaged         a file's checksum is not the manifest's, or a library cannot load it
│   ├── DownloadFailed       a download could not be finished: offline, refused, disk full
│   └── ServerError          a model's server refused, failed, or answered what it should not
│       ├── ServerNotRunning nothing answers at its address
│       ├── ServerNoSuch     it has no such path: another program, or a server for something else
│       └── ServerNotAgreed  it is on another computer, and nobody has agreed to that, or a preset forbids it
├── DocumentError            one document could not be read; the others of the same call still go in
│   ├── IngestError          what `Localcrag.add` raises: it has the results of the files that are in and that are not
│   ├── UnsupportedDocument  no reader for this kind of file
│   ├── UnreadableDocument   damaged, truncated, or not what its name says
│   ├── EncryptedDocument    needs a password
│   └── EmptyDocument        holds no text (an image-only PDF, say)
├── FolderError              a folder cannot be followed, or is not one that is
├── StoreError               the database or the index
│   ├── UnknownCollection    no collection of that name
│   ├── UnknownDocument      no document of that name in the collection
│   ├── UnknownRun           no stored run of that id
│   ├── UnknownChat          no chat of that id
│   ├── NameRefused          a name for a document or collection that is taken, empty or too long
│   └── EmbedderMismatch     the collection was indexed with another embedder
├── SearchError              a web search that did not give results, told apart by what the user can do
│   ├── EndpointRefused      the address is public, not http(s), or redirects to another host
│   ├── SearchNotRunning     nothing listens there
│   ├── SearchTimeout        no answer in time
│   ├── JsonDisabled         403: SearXNG's JSON format is off
│   ├── RateLimited          429: SearXNG's limiter
│   ├── BadSearchAnswer      not the JSON that SearXNG writes
│   ├── AllEnginesFailed     no results, because the engines behind SearXNG failed
│   ├── NoResults            the engines answered and found nothing
│   ├── ForbiddenTerm        the query holds a term that may never be sent: it did not leave
│   └── ConsentMissing       nobody answered whether the query may be sent: it did not leave
├── EgressRefused            something wanted to leave this computer that may not; also a ConnectionError
├── ChatBusy                 a chat's last question is still being answered
├── ReportError              exported runs could not be written
├── LabelError               a label or pin names what its run does not have, or there is nothing to export
├── GapError                 a run has no web text to add, or the collection has it already
├── EvaluationError          an evaluation or calibration cannot be done, or its results not be read
│   └── EvaluationSetError   the folder of an evaluation set is not one, or lines of it are wrong
└── GenerationError          the language model failed, or the prompt cannot fit its window
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcrag.records.ingest import IngestResult


class LocalcragError(Exception):
    """Base of everything that localcrag raises on purpose; `str(error)` is fit to be shown to a person."""


class SettingsError(LocalcragError):
    """A setting, variable or command-line value is not valid."""


class QuestionError(LocalcragError):
    """The question is empty or far too long."""


class ModelError(LocalcragError):
    """Something about model files."""


class ModelMissing(ModelError):
    """A model is not there."""


class ModelDamaged(ModelError):
    """A model file does not match its checksum, or a library cannot load it."""


class DownloadFailed(ModelError):
    """A download could not be finished."""


class ServerError(ModelError):
    """A model's server refused, failed, or answered what it should not."""


class ServerNotRunning(ServerError):
    """Nothing answers at a model server's address."""


class ServerNoSuch(ServerError):
    """A model's server has no such path."""


class ServerNotAgreed(ServerError):
    """A model's server is on another computer, and nobody has agreed to that, or a preset forbids it."""


class DocumentError(LocalcragError):
    """One document could not be read."""


class IngestError(DocumentError):
    """Some files of a call were not added; `added` are the results of those that are in, `failed` of the others.

    Both are in the order in which the files were given, and each of `failed` has its `error`.
    """

    def __init__(self, added: Sequence[IngestResult], failed: Sequence[IngestResult]) -> None:
        super().__init__("\n".join(one.error or one.document for one in failed))
        self.added, self.failed = tuple(added), tuple(failed)

    def __reduce__(self) -> tuple[type[IngestError], tuple[tuple[IngestResult, ...], tuple[IngestResult, ...]]]:
        """Return what pickle makes it of again, in another process: an exception's own way passes the text alone."""
        return IngestError, (self.added, self.failed)


class UnsupportedDocument(DocumentError):
    """No reader for this kind of file."""


class UnreadableDocument(DocumentError):
    """Damaged, truncated, or not what its name says."""


class EncryptedDocument(DocumentError):
    """Needs a password."""


class PasswordNeeded(EncryptedDocument):
    """Can be opened here with its password; `known` is one that programs try without asking, if there is one."""

    known: str | None = None


class EmptyDocument(DocumentError):
    """Holds no text."""


class FolderError(LocalcragError):
    """A folder cannot be followed, or is not one that is."""


class StoreError(LocalcragError):
    """The database or the index."""


class IndexFileError(StoreError):
    """The file of a vector index, which the database can make again, could not be written or removed."""


class UnknownCollection(StoreError):
    """No collection of that name."""


class UnknownDocument(StoreError):
    """No document of that name in the collection."""


class UnknownRun(StoreError):
    """No stored run of that id."""


class UnknownChat(StoreError):
    """No chat of that id."""


class NameRefused(StoreError):
    """A name for a document or collection that is taken, empty or too long."""


class ChatBusy(LocalcragError):
    """A chat's last question is still being answered."""


class EmbedderMismatch(StoreError):
    """The collection was indexed with another embedder."""


class SearchError(LocalcragError):
    """A web search that did not give results."""


class EndpointRefused(SearchError):
    """The address is public, not http(s), or redirects to another host."""


class SearchNotRunning(SearchError):
    """Nothing listens there."""


class SearchTimeout(SearchError):
    """No answer in time."""


class JsonDisabled(SearchError):
    """SearXNG's JSON format is off."""


class RateLimited(SearchError):
    """SearXNG's limiter refused the query."""


class BadSearchAnswer(SearchError):
    """Not the JSON that SearXNG writes."""


class AllEnginesFailed(SearchError):
    """No results, because the engines behind SearXNG failed."""


class NoResults(SearchError):
    """The engines answered and found nothing."""


class ForbiddenTerm(SearchError):
    """The query holds a term that may never be sent: it did not leave."""


class ConsentMissing(SearchError):
    """Nobody answered whether the query may be sent: it did not leave."""


class EgressRefused(LocalcragError, ConnectionError):
    """Something wanted to leave this computer that may not.

    A ConnectionError as well, so that libraries take it as they take a network that is down.
    """


class ReportError(LocalcragError):
    """Exported runs could not be written."""


class LabelError(LocalcragError):
    """A label or pin names what its run does not have, or there is nothing to export."""


class GapError(LocalcragError):
    """A run has no web text to add, or the collection has it already."""


class EvaluationError(LocalcragError):
    """An evaluation or calibration cannot be done, or its results not be read."""


class EvaluationSetError(EvaluationError):
    """The folder of an evaluation set is not one, or lines of it are wrong."""


class GenerationError(LocalcragError):
    """The language model failed, or the prompt cannot fit its window."""
