-- The run file of Forebay, version 4: one SQLite file for one run.
--
-- PRAGMA application_id = 0x4642524E ("FBRN"); PRAGMA user_version = 4.
--
-- Conventions: NULL means "not seen" or "not known", never 0. Names end in their unit: _us are
-- microseconds, _bytes are bytes. Times are counted from the start of the run (header.started_unix_us).
-- Paths in `files` are relative to their tree. Text that is not valid UTF-8 is stored as a BLOB.
-- Booleans are 0 or 1. Tables are only ever extended within a version; see docs/formats/run.md.

-- Facts about the run as a whole. Keys are listed in docs/formats/run.md.
CREATE TABLE header (
  key   TEXT PRIMARY KEY,
  value                            -- INTEGER, TEXT, or BLOB
) WITHOUT ROWID;

-- Covered directories, one for each file system ("tier" in the summary).
CREATE TABLE trees (
  tree        INTEGER PRIMARY KEY,
  path        NOT NULL,            -- absolute
  fs_type     TEXT NOT NULL,       -- ext4, nfs4, lustre, ...
  passthrough INTEGER NOT NULL,    -- 1: bytes may go past Forebay and are then NULL in `opens`
  device,                          -- device or export below; NULL if not known
  tier                             -- a directory on a tier: the tier's name; NULL: a covered tree
);

-- What the work consisted of. Written when the run ends, or when a broken file is salvaged.
CREATE TABLE tasks (
  task          INTEGER PRIMARY KEY,
  name          TEXT NOT NULL,     -- process, rule or program; equal names are one kind of task
  engine        TEXT NOT NULL,     -- nextflow, snakemake, trinity, or processes
  key           ,                  -- what tells it from others of its name: hash, output, partition
  kind          TEXT NOT NULL,     -- task; driver (a shell or engine that starts the tasks);
                                   -- others (processes that no part of the run started)
  started_us    INTEGER,
  ended_us      INTEGER,
  exit_status   INTEGER,           -- NULL: not known
  processes     INTEGER NOT NULL,  -- how many processes took part
  cpu_user_us   INTEGER,           -- NULL: not known
  cpu_system_us INTEGER,
  rchar_upper   INTEGER,           -- bytes read at most, from /proc (pipes included); NULL: not known
  wchar_upper   INTEGER,           -- bytes written at most
  waited_us     INTEGER,           -- sum of the time of its operations on covered files; NULL: not known
  cores         INTEGER,           -- cores that it was given; NULL: not told
  memory_bytes  INTEGER            -- the most memory that it took; NULL: not told
);

-- What waited for what, where it is told and not to be seen from files.
CREATE TABLE waits (
  task  INTEGER NOT NULL,          -- tasks.task
  after INTEGER NOT NULL,          -- tasks.task that had to be done before
  PRIMARY KEY (task, after)
) WITHOUT ROWID;

-- Processes that touched covered files, and their ancestors inside the run.
CREATE TABLE processes (
  process            INTEGER PRIMARY KEY,
  pid                INTEGER,      -- may repeat: the kernel reuses numbers
  parent             INTEGER,      -- processes.process; NULL for the first, or if not seen
  task               INTEGER,      -- tasks.task; NULL until the run has ended
  started_us         INTEGER,
  ended_us           INTEGER,      -- when it was noticed; NULL: not seen
  argv               TEXT,         -- JSON array of words, secrets masked; NULL: not seen or left out
  exe                ,             -- program file
  cwd                ,             -- working directory, absolute
  counted_us         INTEGER,      -- when the counters below were read last
  user_us            INTEGER,      -- CPU in programs
  system_us          INTEGER,      -- CPU in the kernel
  children_user_us   INTEGER,      -- the same, of ended and waited-for children
  children_system_us INTEGER,
  rchar              INTEGER,      -- bytes from read calls, pipes included
  wchar              INTEGER,      -- bytes to write calls, pipes included
  read_bytes         INTEGER,      -- bytes fetched from storage
  write_bytes        INTEGER       -- bytes sent to storage
);

-- What processes used besides CPU and bytes (not in older files of this version).
CREATE TABLE process_usage (
  process           INTEGER PRIMARY KEY,  -- processes.process
  cpu_wait_us       INTEGER,       -- ready to compute while all CPUs were taken, threads summed
  memory_peak_bytes INTEGER        -- the most memory at a time
);

-- Where a run was recorded that was joined of several run files (not in older files of this version).
CREATE TABLE nodes (
  node                 INTEGER PRIMARY KEY,
  name                 TEXT NOT NULL,
  host                 ,           -- name of the machine; NULL if not known
  runs                 INTEGER NOT NULL,  -- run files that came from it
  clock_shift_us       INTEGER NOT NULL,  -- what was added to its times
  clock_shift_least_us INTEGER,    -- what files allow that it and the first node used; NULL: nothing told
  clock_shift_most_us  INTEGER
);

-- On which node a process was (not in older files of this version).
CREATE TABLE process_nodes (
  process INTEGER PRIMARY KEY,     -- processes.process
  node    INTEGER NOT NULL         -- nodes.node
);

-- Processes that came in from elsewhere: neither the command nor anything that it started. Their
-- children are in `processes` by their parent (not in older files of this version).
CREATE TABLE strangers (
  process INTEGER PRIMARY KEY      -- processes.process
);

-- Files that were renamed: the name that they had first (not in older files of this version).
CREATE TABLE first_names (
  file  INTEGER PRIMARY KEY,       -- files.file
  path  NOT NULL,                  -- relative to the tree of `files`
  class INTEGER NOT NULL           -- classes.class
);

-- Names that were removed of files that this run had not opened: where it is joined with others, one
-- of these may know the file (not in older files of this version).
CREATE TABLE removals (
  tree    INTEGER NOT NULL,        -- trees.tree
  path    NOT NULL,                -- relative to the tree
  gone_us INTEGER NOT NULL,        -- the last time
  UNIQUE (tree, path)
);

-- Classes of file names: digits are #, hashes are *.
CREATE TABLE classes (
  class   INTEGER PRIMARY KEY,
  pattern NOT NULL
);

-- Files by the name they had last.
CREATE TABLE files (
  file  INTEGER PRIMARY KEY,
  tree  INTEGER NOT NULL,          -- trees.tree
  path  NOT NULL,                  -- relative to the tree
  class INTEGER NOT NULL,          -- classes.class
  home  INTEGER,                   -- trees.tree of the tier that holds its bytes; NULL: in place
  gone_us INTEGER                  -- its last name was removed; NULL: not, or not seen
);

-- One row for each open file from open to close.
CREATE TABLE opens (
  process       INTEGER NOT NULL,  -- processes.process
  file          INTEGER NOT NULL,  -- files.file
  write         INTEGER NOT NULL,  -- 1: open for writing
  created       INTEGER NOT NULL,  -- 1: this open made the file
  opened_us     INTEGER NOT NULL,
  closed_us     INTEGER,           -- NULL: still open at the end
  read_bytes    INTEGER,           -- NULL: not seen
  read_calls    INTEGER,
  written_bytes INTEGER,           -- NULL: not seen
  written_calls INTEGER,
  size_at_open  INTEGER,           -- bytes
  size_at_close INTEGER,           -- bytes
  hidden        INTEGER NOT NULL,  -- 1: reads and writes went past Forebay
  copy          INTEGER            -- trees.tree of the tier whose copy was read; NULL: none
);

-- The keys by which operations are counted apart (numbers differ between versions of Forebay).
CREATE TABLE op_keys (
  op_key     INTEGER PRIMARY KEY,
  op         TEXT NOT NULL,        -- lookup, open, read, fsync, ...
  op_group   TEXT NOT NULL,        -- metadata, data, sync
  size_class TEXT,                 -- 4K, 64K, 1M, more; NULL for operations without bytes
  pattern    TEXT                  -- sequential, random; NULL for operations without bytes
);

-- Operations by process, class of files and kind. Grows while the run lasts.
CREATE TABLE process_ops (
  process INTEGER,                 -- NULL: the kernel did not say who asked
  tree    INTEGER NOT NULL,
  class   INTEGER NOT NULL,
  op_key  INTEGER NOT NULL,
  count   INTEGER NOT NULL,        -- answered requests
  failed  INTEGER NOT NULL,        -- of these, answered with an error
  time_ns INTEGER NOT NULL,        -- from request to answer, summed
  bytes   INTEGER NOT NULL
);
CREATE UNIQUE INDEX process_ops_by_key
  ON process_ops (op_key, class, tree, IFNULL(process, -1));

-- The same by task, for people and planners. Written when the run ends.
CREATE TABLE ops (
  task       INTEGER,              -- tasks.task; NULL: not known who asked
  tree       INTEGER NOT NULL,
  class      INTEGER NOT NULL,
  op         TEXT NOT NULL,
  size_class TEXT,
  pattern    TEXT,
  count      INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  time_us    INTEGER NOT NULL,
  bytes      INTEGER NOT NULL
);

-- The machine, sampled; counters are differences since the row before.
CREATE TABLE samples (
  at_us            INTEGER PRIMARY KEY,
  cpu_user_us      INTEGER NOT NULL,  -- all cores together
  cpu_system_us    INTEGER NOT NULL,
  cpu_iowait_us    INTEGER NOT NULL,
  cpu_idle_us      INTEGER NOT NULL,
  cpu_steal_us     INTEGER NOT NULL,
  memory_bytes     INTEGER NOT NULL,
  available_bytes  INTEGER NOT NULL,
  dirty_bytes      INTEGER NOT NULL,  -- written by programs, not yet at storage
  writeback_bytes  INTEGER NOT NULL,
  cached_bytes     INTEGER NOT NULL,
  pressure_some_us INTEGER,           -- some task waited for I/O; NULL: kernel does not account it
  pressure_full_us INTEGER            -- all tasks waited for I/O
);

-- Block devices at the same moments.
CREATE TABLE sample_devices (
  at_us         INTEGER NOT NULL,
  name          TEXT NOT NULL,
  read_bytes    INTEGER NOT NULL,
  written_bytes INTEGER NOT NULL,
  reads         INTEGER NOT NULL,
  writes        INTEGER NOT NULL,
  busy_us       INTEGER NOT NULL
);

-- Network interfaces at the same moments (not in older files of this version).
CREATE TABLE sample_networks (
  at_us          INTEGER NOT NULL,
  name           TEXT NOT NULL,
  received_bytes INTEGER NOT NULL,
  sent_bytes     INTEGER NOT NULL
);

-- Files outside the covered trees, seen open by sampling. Bytes are the farthest position seen in
-- one file of the directory: a minimum.
CREATE TABLE outside (
  process   INTEGER NOT NULL,
  directory NOT NULL,              -- absolute
  write     INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  PRIMARY KEY (process, directory, write)
) WITHOUT ROWID;

-- What workflow engines said about tasks in their control files, distilled as it was written.
CREATE TABLE notes (
  tree    INTEGER NOT NULL,        -- trees.tree, in which the control file is
  engine  TEXT NOT NULL,
  subject NOT NULL,                -- the engine's key: a work directory, or an output file; in the tree, or absolute
  what    TEXT NOT NULL,           -- name, began, exit (nextflow); rule (snakemake)
  value   ,
  at_us   INTEGER NOT NULL
);

-- Programs that hand work to where Forebay does not look (sbatch, docker, ssh, ...).
CREATE TABLE not_seen (
  program TEXT PRIMARY KEY,
  count   INTEGER NOT NULL         -- how many times it was started
) WITHOUT ROWID;
