-- Tables of the book, version 1. Names and bodies are bytes: no collation, no encoding.

CREATE TABLE forebay.volume (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL UNIQUE,       -- as s3://bucket/prefix
    next_inode  bigint NOT NULL,            -- the first number that was not lent
    secret      text NOT NULL DEFAULT gen_random_uuid()::text || gen_random_uuid()::text,
                                            -- what its nodes prove to each other
    made        timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE forebay.node (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    volume      integer NOT NULL REFERENCES forebay.volume,
    key         bytea NOT NULL,             -- proof of being the same node as before
    name        text NOT NULL,
    address     text NOT NULL,              -- host:port; empty: it can't be asked
    term        bigint NOT NULL,            -- counts registrations
    expires     timestamptz NOT NULL,       -- of this database's clock; -infinity: over for good
    renewed     timestamptz NOT NULL,
    published   bigint NOT NULL,            -- its last publication that was taken
    UNIQUE (volume, key)
);

CREATE TABLE forebay.folder (
    volume      integer NOT NULL REFERENCES forebay.volume,
    inode       bigint NOT NULL,
    holder      bigint REFERENCES forebay.node,
    epoch       bigint NOT NULL,            -- counts how often it changed hands
    version     bigint NOT NULL,            -- counts publications
    PRIMARY KEY (volume, inode)
);
CREATE INDEX folder_holder ON forebay.folder (holder) WHERE holder IS NOT NULL;

CREATE TABLE forebay.file (
    volume      integer NOT NULL REFERENCES forebay.volume,
    inode       bigint NOT NULL,
    kind        smallint NOT NULL,          -- 0 file, 1 folder, 2 link, 3 FIFO, 4 socket, 5 and 6 devices
    mode        integer NOT NULL,
    uid         bigint NOT NULL,
    gid         bigint NOT NULL,
    mtime_ns    bigint NOT NULL,            -- nanoseconds since 1970
    size        bigint NOT NULL,
    rdev        bigint NOT NULL,
    place       smallint NOT NULL,          -- 0 no bytes, 1 body, 2 object of the bucket, 3 a node's disk
    body        bytea,
    object      text,
    sums        bytea,                      -- checksums of the object's blocks
    home        bigint REFERENCES forebay.node,
    attribute_names  bytea[] NOT NULL DEFAULT '{}',
    attribute_values bytea[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (volume, inode)
);
CREATE INDEX file_home ON forebay.file (home) WHERE home IS NOT NULL;

CREATE TABLE forebay.name (
    volume      integer NOT NULL,
    folder      bigint NOT NULL,
    name        bytea NOT NULL,
    inode       bigint NOT NULL,
    PRIMARY KEY (volume, folder, name),
    FOREIGN KEY (volume, folder) REFERENCES forebay.folder (volume, inode),
    FOREIGN KEY (volume, inode) REFERENCES forebay.file (volume, inode)
);
CREATE INDEX name_inode ON forebay.name (volume, inode);
