-- Tables of the book, version 2: who does not reach the holder of a folder asks for it here.

ALTER TABLE forebay.folder
    ADD COLUMN wanted_epoch bigint,         -- counts while the folder has this epoch
    ADD COLUMN wanted_by    bigint REFERENCES forebay.node;
-- Few folders were ever wanted so; a holder may have many.
CREATE INDEX folder_wanted ON forebay.folder (holder) WHERE wanted_epoch IS NOT NULL;
