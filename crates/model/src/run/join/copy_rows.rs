//! Copies the rows of one run file into a joined one, under their new numbers.

use super::Join;
use super::JoinPart;
use super::names::{TreeName, is_local};
use crate::run::Run;
use crate::run::reader::read_processes;
use crate::run::sql::{SqlText, bytes_of_value, execute_cached};
use crate::run::writer::write_sample;
use crate::{Error, ProcessId};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, Row, params, params_from_iter};
use std::collections::{HashMap, HashSet};

/// What stopped a copy.
#[derive(Debug)]
pub(super) enum CopyError {
    /// Rows that can't be read.
    Reading(rusqlite::Error),
    /// Rows that can't be written.
    Writing(rusqlite::Error),
}

/// What tells a kind of operation from others: its name, size and pattern.
type OpNames = [Option<String>; 3];

type Copied<T = ()> = Result<T, CopyError>;

/// One run file on its way into the whole.
struct Copy<'a> {
    join: &'a mut Join,
    c: &'a Connection,
    part: &'a JoinPart,
    node: usize,
    /// What is added to its times, in microseconds.
    shift: i64,
    trees: HashMap<i64, u16>,
    classes: HashMap<i64, u32>,
    files: HashMap<i64, u32>,
    /// The new number of each process.
    processes: HashMap<i64, u32>,
    /// Those whose rows another run file has.
    known: HashSet<i64>,
}

/// Copies all rows of `part`, recorded on `node`, whose times lie `shift` microseconds later.
pub(super) fn copy_run(
    join: &mut Join,
    c: &Connection,
    part: &JoinPart,
    (node, shift): (usize, i64),
) -> Copied {
    let first = join.report.runs == 0;
    let mut copy = Copy {
        join,
        c,
        part,
        node,
        shift,
        trees: HashMap::new(),
        classes: HashMap::new(),
        files: HashMap::new(),
        processes: HashMap::new(),
        known: HashSet::new(),
    };
    copy.copy_trees()?;
    copy.copy_classes()?;
    copy.copy_files()?;
    copy.copy_removals()?;
    copy.copy_processes()?;
    copy.copy_opens()?;
    copy.copy_ops()?;
    copy.copy_others()?;
    if first { copy.copy_samples() } else { Ok(()) }
}

impl<'a> Copy<'a> {
    /// Calls `each` with every row of a query on the run file.
    fn read(&self, sql: &str, mut each: impl FnMut(&Row<'_>) -> Copied) -> Copied {
        let mut statement = self.part.run().conn.prepare_cached(sql).map_err(CopyError::Reading)?;
        let mut rows = statement.query([]).map_err(CopyError::Reading)?;
        let mut left = self.part.row_limit;
        while let Some(row) = rows.next().map_err(CopyError::Reading)? {
            left =
                left.checked_sub(1).ok_or_else(|| CopyError::Reading(Run::endless_rows_error()))?;
            each(row)?;
        }
        Ok(())
    }

    fn write(&self, sql: &str, values: impl rusqlite::Params) -> Copied {
        execute_cached(self.c, sql, values).map_err(CopyError::Writing)
    }

    /// A statement that is asked for once, not for each row.
    fn prepare(&self, sql: &str) -> Copied<CachedStatement<'a>> {
        self.c.prepare_cached(sql).map_err(CopyError::Writing)
    }

    fn later(&self, at: Option<i64>) -> Option<i64> {
        at.map(|at| at.saturating_add(self.shift))
    }

    fn copy_trees(&mut self) -> Copied {
        let host = self.part.header.host.as_deref();
        let trees = self.part.run().trees().map_err(damage)?;
        for tree in trees {
            let name = TreeName {
                path: tree.path.clone(),
                tier: tree.tier.clone(),
                host: is_local(&tree.fs_type).then(|| host.unwrap_or_default().to_owned()),
            };
            let found = self.join.names.tree(name);
            let (number, new) = found.ok_or_else(|| damage_text("it has too many directories"))?;
            self.trees.insert(i64::from(tree.id.0), number);
            if new {
                self.write(
                    "INSERT INTO trees VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![
                        number,
                        SqlText(&tree.path),
                        tree.fs_type,
                        tree.passthrough,
                        tree.device,
                        tree.tier
                    ],
                )?;
            } else if tree.passthrough {
                self.write("UPDATE trees SET passthrough = 1 WHERE tree = ?1", [number])?;
            }
        }
        Ok(())
    }

    fn copy_classes(&mut self) -> Copied {
        let mut found = Vec::new();
        self.read(&self.part.queries().classes, |r| {
            let class: i64 = get(r, 0)?;
            found.push((class, text(r, 1)?));
            Ok(())
        })?;
        for (class, pattern) in found {
            let (number, new) = self.join.names.class(pattern.clone());
            self.classes.insert(class, number);
            if new {
                self.write(
                    "INSERT INTO classes VALUES (?1, ?2)",
                    params![number, SqlText(&pattern)],
                )?;
            }
        }
        Ok(())
    }

    fn copy_files(&mut self) -> Copied {
        type FileRow = (i64, i64, Vec<u8>, i64, Option<i64>, Option<i64>);
        let mut rows: Vec<FileRow> = Vec::new();
        self.read(&self.part.queries().files, |r| {
            rows.push((get(r, 0)?, get(r, 1)?, text(r, 2)?, get(r, 3)?, get(r, 4)?, get(r, 5)?));
            Ok(())
        })?;
        let mut met: HashSet<u32> = HashSet::new();
        let mut insert = self.prepare(
            "INSERT INTO files (file, tree, path, class, home, gone_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (file, tree, path, class, home, gone) in rows {
            let Some(&tree) = self.trees.get(&tree) else { continue };
            let Some(&class) = self.classes.get(&class) else { continue };
            let home = home.and_then(|home| self.trees.get(&home).copied());
            let gone = self.later(gone);
            let (mut number, mut new) = self.join.names.file(tree, path.clone());
            if !met.insert(number) {
                (number, new) = (self.join.names.new_file(), true);
            }
            self.files.insert(file, number);
            if new {
                let values = params![number, tree, SqlText(&path), class, home, gone];
                insert.execute(values).map_err(CopyError::Writing)?;
            } else if gone.is_some() || home.is_some() {
                self.write(
                    "UPDATE files SET gone_us = IFNULL(?2, gone_us), home = IFNULL(?3, home)
                     WHERE file = ?1",
                    params![number, gone, home],
                )?;
            }
            if gone.is_some() {
                self.join.clocks.note_removal(number);
                self.note_row("files", i64::from(number))?;
            }
        }
        let Some(query) = &self.part.queries().first_names else { return Ok(()) };
        self.read(query, |r| {
            let (file, path, class) = (get::<i64>(r, 0)?, text(r, 1)?, get::<i64>(r, 2)?);
            let (Some(file), Some(class)) = (self.files.get(&file), self.classes.get(&class))
            else {
                return Ok(());
            };
            self.write(
                "INSERT OR IGNORE INTO first_names VALUES (?1, ?2, ?3)",
                params![file, SqlText(&path), class],
            )
        })
    }

    /// Keeps them until all files are known.
    fn copy_removals(&mut self) -> Copied {
        let Some(query) = &self.part.queries().removals else { return Ok(()) };
        let mut insert = self.prepare("INSERT INTO temp.removed VALUES (?1, ?2, ?3, ?4)")?;
        self.read(query, |r| {
            let tree: i64 = get(r, 0)?;
            let Some(tree) = self.trees.get(&tree) else { return Ok(()) };
            let (path, at) = (text(r, 1)?, get::<i64>(r, 2)?.saturating_add(self.shift));
            let values = params![tree, SqlText(&path), at, self.node as i64];
            insert.execute(values).map_err(CopyError::Writing).map(drop)
        })
    }

    /// Remembers which node a row with times is from.
    fn note_row(&self, table: &str, row: i64) -> Copied {
        self.write(
            "INSERT INTO temp.added_by VALUES (?1, ?2, ?3)",
            params![table, row, self.node as i64],
        )
    }

    fn copy_processes(&mut self) -> Copied {
        let rows = read_processes(&self.part.run().conn).map_err(CopyError::Reading)?;
        // Process numbers are a machine's.
        let machine = self.part.header.host.clone().unwrap_or_default();
        for row in &rows {
            let at = row.started.map(|at| at.0 as i64).and_then(|at| self.later(Some(at)));
            let (number, new) = match (row.pid, at) {
                (Some(pid), Some(at)) if !machine.is_empty() => {
                    self.join.names.process(&machine, pid, at)
                }
                _ => (self.join.names.new_process(), true),
            };
            let old = i64::from(row.id.0);
            self.processes.insert(old, number);
            if !new {
                self.known.insert(old);
            }
        }
        let parents: HashMap<ProcessId, ProcessId> =
            rows.iter().filter_map(|row| Some((row.id, row.parent?))).collect();
        let mut insert = self.prepare(
            "INSERT INTO processes VALUES
             (?1,?2,?3,NULL,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)",
        )?;
        let mut insert_node = self.prepare("INSERT INTO process_nodes VALUES (?1, ?2)")?;
        self.read(&self.part.queries().processes, |r| {
            let old: i64 = get(r, 0)?;
            let Some(&number) = self.processes.get(&old) else { return Ok(()) };
            if self.known.contains(&old) {
                return Ok(());
            }
            let parent = u32::try_from(old).ok().and_then(|old| parents.get(&ProcessId(old)));
            let parent = parent.and_then(|p| self.processes.get(&i64::from(p.0)).copied());
            // Its start is not known: that of the record is the least.
            let started = get::<Option<i64>>(r, 2)?.unwrap_or(0);
            let mut values: Vec<Value> = vec![
                i64::from(number).into(),
                get::<Option<i64>>(r, 1)?.into(),
                parent.map(i64::from).into(),
                self.later(Some(started)).into(),
                self.later(get(r, 3)?).into(),
            ];
            for column in 4..7 {
                values.push(get(r, column)?);
            }
            values.push(self.later(get(r, 7)?).into());
            for column in 8..16 {
                values.push(get::<Option<i64>>(r, column)?.into());
            }
            insert.execute(params_from_iter(values)).map_err(CopyError::Writing)?;
            let on_node = params![number, self.node as i64];
            insert_node.execute(on_node).map_err(CopyError::Writing).map(drop)
        })?;
        self.join.report.processes_seen_twice = self.join.names.seen_twice();
        let queries = &self.part.queries();
        for (query, table, columns) in [
            (&queries.strangers, "strangers", ""),
            (&queries.process_usage, "process_usage", ", ?2, ?3"),
        ] {
            let Some(query) = query else { continue };
            let insert = format!("INSERT OR IGNORE INTO {table} VALUES (?1{columns})");
            self.read(query, |r| {
                let old: i64 = get(r, 0)?;
                let Some(number) = self.own_process(old) else { return Ok(()) };
                match columns.is_empty() {
                    true => self.write(&insert, [number]),
                    false => self.write(
                        &insert,
                        params![number, get::<Option<i64>>(r, 1)?, get::<Option<i64>>(r, 2)?],
                    ),
                }
            })?;
        }
        Ok(())
    }

    /// The new number of a process whose rows are to be taken from this run file.
    fn own_process(&self, old: i64) -> Option<u32> {
        self.processes.get(&old).copied().filter(|_| !self.known.contains(&old))
    }

    fn copy_opens(&mut self) -> Copied {
        let clock = self.join.clock_of[self.node];
        let mut insert = self.prepare(
            "INSERT INTO temp.staged VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
        )?;
        let mut opened: Vec<(u32, i64, bool)> = Vec::new();
        self.read(&self.part.queries().opens, |r| {
            let (process, file): (i64, i64) = (get(r, 0)?, get(r, 1)?);
            let (Some(process), Some(&file)) = (self.own_process(process), self.files.get(&file))
            else {
                return Ok(());
            };
            let at = get::<i64>(r, 4)?.saturating_add(self.shift);
            opened.push((file, at, get::<i64>(r, 3)? != 0));
            let mut values: Vec<Value> =
                vec![i64::from(process).into(), i64::from(file).into(), get(r, 2)?, get(r, 3)?];
            values.push(at.into());
            values.push(self.later(get(r, 5)?).into());
            for column in 6..13 {
                values.push(get::<Option<i64>>(r, column)?.into());
            }
            let copy = get::<Option<i64>>(r, 13)?.and_then(|tree| self.trees.get(&tree));
            values.push(copy.map(|tree| i64::from(*tree)).into());
            insert.execute(params_from_iter(values)).map_err(CopyError::Writing).map(drop)
        })?;
        for (file, at, made) in opened {
            self.join.clocks.note_open(file, clock, at, made);
        }
        Ok(())
    }

    fn copy_ops(&mut self) -> Copied {
        let mut add = self.prepare(
            "INSERT INTO process_ops VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (op_key, class, tree, IFNULL(process, -1)) DO UPDATE SET
               count = count + excluded.count, failed = failed + excluded.failed,
               time_ns = time_ns + excluded.time_ns, bytes = bytes + excluded.bytes",
        )?;
        let mut keys: HashMap<OpNames, i64> = HashMap::new();
        self.read(&self.part.queries().ops, |r| {
            let process = match get::<Option<i64>>(r, 0)? {
                None => None,
                Some(old) => match self.own_process(old) {
                    Some(number) => Some(number),
                    None => return Ok(()),
                },
            };
            let (tree, class) = (get::<i64>(r, 1)?, get::<i64>(r, 2)?);
            let (Some(tree), Some(class)) = (self.trees.get(&tree), self.classes.get(&class))
            else {
                return Ok(());
            };
            let names: OpNames = [get(r, 3)?, get(r, 4)?, get(r, 5)?];
            let key = match keys.get(&names) {
                Some(&known) => known,
                None => {
                    let key = self.op_key(&names, get(r, 10)?)?;
                    keys.insert(names, key);
                    key
                }
            };
            let values = params![
                process,
                tree,
                class,
                key,
                get::<i64>(r, 6)?,
                get::<i64>(r, 7)?,
                get::<i64>(r, 8)?,
                get::<i64>(r, 9)?
            ];
            add.execute(values).map_err(CopyError::Writing).map(drop)
        })
    }

    /// The number of a kind of operation, also of one that this Forebay does not know.
    fn op_key(&self, names: &OpNames, group: Option<String>) -> Copied<i64> {
        let find = || -> rusqlite::Result<Option<i64>> {
            let mut known = self.c.prepare_cached(
                "SELECT op_key FROM op_keys WHERE op IS ?1 AND size_class IS ?2 AND pattern IS ?3",
            )?;
            let mut rows = known.query(params![names[0], names[1], names[2]])?;
            rows.next()?.map(|row| row.get(0)).transpose()
        };
        if let Some(key) = find().map_err(CopyError::Writing)? {
            return Ok(key);
        }
        self.write(
            "INSERT INTO op_keys SELECT max(op_key) + 1, ?1, ?2, ?3, ?4 FROM op_keys",
            params![
                names[0].as_deref().unwrap_or("other"),
                group.as_deref().unwrap_or("metadata"),
                names[1],
                names[2]
            ],
        )?;
        Ok(find().map_err(CopyError::Writing)?.unwrap_or_default())
    }

    fn copy_others(&mut self) -> Copied {
        self.read(&self.part.queries().outside, |r| {
            let Some(process) = self.own_process(get(r, 0)?) else { return Ok(()) };
            let (directory, write): (Value, i64) = (get(r, 1)?, get(r, 2)?);
            let bytes: i64 = get(r, 3)?;
            self.write(
                "INSERT OR IGNORE INTO outside VALUES (?1, ?2, ?3, ?4)",
                params![process, directory, write, bytes],
            )
        })?;
        self.read(&self.part.queries().notes, |r| {
            let tree: i64 = get(r, 0)?;
            let Some(tree) = self.trees.get(&tree) else { return Ok(()) };
            let values: [Value; 4] = [get(r, 1)?, get(r, 2)?, get(r, 3)?, get(r, 4)?];
            let [engine, subject, what, value] = values;
            self.write(
                "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    tree,
                    engine,
                    subject,
                    what,
                    value,
                    get::<i64>(r, 5)?.saturating_add(self.shift)
                ],
            )?;
            self.note_row("notes", self.c.last_insert_rowid())
        })
    }

    /// The machine of the first run; of others `forebay sample` tells more.
    fn copy_samples(&mut self) -> Copied {
        for sample in self.part.run().samples().map_err(damage)? {
            write_sample(self.c, &sample).map_err(CopyError::Writing)?;
        }
        Ok(())
    }
}

fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, column: usize) -> Copied<T> {
    row.get(column).map_err(CopyError::Reading)
}

fn text(row: &Row<'_>, column: usize) -> Copied<Vec<u8>> {
    let value = row.get_ref(column).map_err(CopyError::Reading)?;
    Ok(bytes_of_value(value).unwrap_or_default())
}

fn damage(error: Error) -> CopyError {
    damage_text(&error.to_string())
}

fn damage_text(text: &str) -> CopyError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    CopyError::Reading(rusqlite::Error::SqliteFailure(code, Some(text.to_owned())))
}
