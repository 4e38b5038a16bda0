-- Schema 22 as it was first committed (2026-11-28): what brought a database of 21 to it. Never to be edited.
-- Whatever else is deleted, or gets other words, leaves those that it had in the log of writes as well. A turn that is
-- answered only gains words, and so does a chat that is named after its first question.
CREATE TRIGGER words_of_name_left AFTER UPDATE OF name ON documents BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_run_left AFTER DELETE ON runs BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_run_changed AFTER UPDATE OF question, record ON runs BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_chat_left AFTER DELETE ON chats BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_title_left AFTER UPDATE OF title ON chats
WHEN new.title != old.title AND old.title != 'New chat' BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_turn_left AFTER DELETE ON chat_turns BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_label_left AFTER DELETE ON labels BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_label_changed AFTER UPDATE OF question, text, evidence, circumstances ON labels BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_pin_left AFTER DELETE ON pins BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
CREATE TRIGGER words_of_web_answer_left AFTER DELETE ON web_cache BEGIN
    UPDATE words_to_overwrite SET deleted = deleted + 1;
END;
-- Runs are told in the order in which they were stored.
DROP INDEX runs_by_time;
