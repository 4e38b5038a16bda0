"""The vector index of a collection in PostgreSQL: the graph of pgvector, kept by the server."""

from __future__ import annotations

from collections.abc import Collection

from localcrag.backends.postgres.chunk_rows import as_text
from localcrag.backends.postgres.chunk_store import PostgresChunks
from localcrag.backends.postgres.schema import in_its_graph
from localcrag.backends.postgres.word_search import WITHIN, ids
from localcrag.records.protocols import Vectors

MOST_COMPARED = 20_000
"""Chunks that are compared one by one where documents are restricted; of more, the graph is asked."""
SPARE = 1.25
"""How many more than asked for the graph is asked for: it compares in half precision, which may change the order."""


class PgVectorIndex:
    """The vector index of one collection."""

    def __init__(self, store: PostgresChunks) -> None:
        self._store = store
        self._changes: int | None = None
        self._crowded: tuple[int, frozenset[int]] | None = None

    def refresh(self) -> bool:
        """Return whether the collection has changed since this was asked last; there is nothing to bring up to date."""
        changes = int(self._store.row()["changes"])
        changed, self._changes = changes != self._changes, changes
        return changed

    def save(self) -> None:
        """Do nothing: the server has saved it."""

    def make_anew(self) -> None:
        """Do nothing: the server does, when the collection is vacuumed."""

    def remove_file(self) -> None:
        """Do nothing: it goes with the collection."""

    def consistent(self) -> bool:
        """Whether it is what was written last: the server sees to that."""
        return True

    def __len__(self) -> int:
        return self._store.number_of_chunks()

    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine), best first, for a unit vector of shape (dimension,).

        Of the documents `within` where they are given. Raises EmbedderMismatch and StoreError.
        """
        if k < 1:
            return []
        row = self._store.row()
        number = row["chunks"] if within is None else self._store.number_of_chunks(within)
        found = self.in_graph(vector, k, within, row["changes"]) if within is None or number > MOST_COMPARED else []
        return found if len(found) >= min(k, number) else self._compared(vector, k, within)

    def in_graph(
        self, vector: Vectors, k: int, within: Collection[int] | None, changes: int
    ) -> list[tuple[int, float]]:
        """Return what the graph leads to, which may be fewer than there are; after this number of `changes`."""
        half, crowded = f"halfvec({self._store.dimension})", self._crowded_after(changes)
        allowed = "(document_id = ANY(CAST(:within AS bigint[])) OR likeness = ANY(CAST(:crowded AS bigint[])))"
        near = self._store.database.rows(
            "SELECT id, document_id, likeness, -(vector <#> CAST(:vector AS vector)) AS cosine FROM (SELECT id, "
            "document_id, likeness, vector FROM localcrag.chunks WHERE collection_id = :collection AND "
            f"{in_its_graph(self._store.dimension)} {'' if within is None else f'AND {allowed}'} "
            # In full first: what a value is cast to first is what the server takes it for.
            f"ORDER BY CAST(vector AS {half}) <#> CAST(CAST(:vector AS vector) AS {half}) LIMIT :more) near",
            collection=self._store.id, vector=as_text(vector), more=int(k * SPARE) + 1,
            **({} if within is None else {"within": ids(within), "crowded": sorted(crowded)}),
        )  # fmt: skip
        cosines = {row["likeness"]: float(row["cosine"]) for row in near if row["likeness"] in crowded}
        more = self._store.database.rows(
            "SELECT id, document_id, likeness FROM localcrag.chunks WHERE collection_id = :collection AND NOT in_graph "
            "AND likeness = ANY(CAST(:numbers AS bigint[]))",
            collection=self._store.id, numbers=sorted(cosines),
        ) if cosines else []  # fmt: skip
        wanted = None if within is None else frozenset(within)
        found = [
            (row["id"], float(row["cosine"]) if "cosine" in row else cosines[row["likeness"]])
            for row in (*near, *more)
            if wanted is None or row["document_id"] in wanted
        ]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:k]

    def _crowded_after(self, changes: int) -> frozenset[int]:
        """Return the numbers of the vectors that more chunks have than are in the graph."""
        if self._crowded is None or self._crowded[0] != changes:
            rows = self._store.database.rows(
                "SELECT DISTINCT likeness FROM localcrag.chunks WHERE collection_id = :collection AND NOT in_graph",
                collection=self._store.id,
            )
            self._crowded = changes, frozenset(row["likeness"] for row in rows)
        return self._crowded[1]

    def _compared(self, vector: Vectors, k: int, within: Collection[int] | None) -> list[tuple[int, float]]:
        # Materialized: otherwise the graph is asked after all.
        rows = self._store.database.rows(
            "WITH own AS MATERIALIZED (SELECT id, -(vector <#> CAST(:vector AS vector)) AS cosine FROM "
            f"localcrag.chunks WHERE collection_id = :collection{WITHIN.format('document_id')}) "
            "SELECT id, cosine FROM own ORDER BY cosine DESC, id LIMIT :k",
            collection=self._store.id, vector=as_text(vector), k=k, within=ids(within),
        )  # fmt: skip
        return [(row["id"], float(row["cosine"])) for row in rows]
