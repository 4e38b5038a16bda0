-- The turns of a chat are a tree. `parent` is the number of the turn that a turn follows, NULL for a first turn. Turns
-- with the same parent are versions of one turn; the version with the highest `chosen` is shown.
ALTER TABLE chat_turns ADD COLUMN parent INTEGER;
ALTER TABLE chat_turns ADD COLUMN chosen INTEGER NOT NULL DEFAULT 1;
UPDATE chat_turns SET parent = (
    SELECT max(number) FROM chat_turns before
    WHERE before.chat_id = chat_turns.chat_id AND before.number < chat_turns.number
);
-- The shape of the trees, without the texts.
CREATE INDEX chat_turns_by_parent ON chat_turns (chat_id, parent, chosen);
