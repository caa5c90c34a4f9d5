//! Modules of a crate that import each other: who changes one of them has to know all. Cargo keeps
//! crates apart; this keeps the modules within one in an order.

use std::collections::{BTreeMap, BTreeSet};

use super::{code, none, rust};

type Imports = BTreeMap<String, BTreeSet<String>>;

/// Names of modules at the root of the crate that a piece of code goes to: those behind `crate::`.
fn roots(code: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // `pub(in crate::a)` says who may come in.
        if code[..at].ends_with("in ") {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(first_names(group)),
            None => found.extend(first_name(rest)),
        }
    }
    found
}

fn first_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// `a` and `c` of `a::{x, y}, c::z}; ...`.
fn first_names(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                found.extend(first_name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// The module at the root of its crate that a file belongs to, and the crate.
fn module_of(path: &str) -> Option<(&str, &str)> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let module = file.split('/').next()?;
    let module = module.strip_suffix(".rs").unwrap_or(module);
    (!matches!(module, "lib" | "main")).then_some((name, module))
}

/// What the modules of each crate import; tests may look anywhere.
fn imports(files: &[(String, String)]) -> BTreeMap<String, Imports> {
    let mut crates: BTreeMap<String, Imports> = BTreeMap::new();
    for (path, text) in files {
        let Some((name, module)) = module_of(path) else { continue };
        let into = crates.entry(name.to_owned()).or_default().entry(module.to_owned()).or_default();
        let lines: Vec<&str> = code(path, text).into_iter().map(|(_, line)| line).collect();
        // From a file two below the root, `super::super::` leads there.
        let depth = path.split_once("/src/").map_or(0, |(_, file)| file.split('/').count());
        let lines = lines.join("\n").replace(&"super::".repeat(depth), "crate::");
        into.extend(roots(&lines).into_iter().map(str::to_owned));
    }
    for imports in crates.values_mut() {
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        for (module, into) in imports.iter_mut() {
            into.retain(|other| other != module && modules.contains(other));
        }
    }
    crates
}

fn reached<'i>(imports: &'i Imports, from: &'i str) -> BTreeSet<&'i str> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for other in imports.get(module).into_iter().flatten() {
            if found.insert(other.as_str()) {
                left.push(other);
            }
        }
    }
    found
}

/// Modules that reach themselves.
fn knot(imports: &Imports) -> BTreeSet<&str> {
    let modules = imports.keys().map(String::as_str);
    modules.filter(|module| reached(imports, module).contains(module)).collect()
}

fn tied(imports: &BTreeMap<String, Imports>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, imports) in imports {
        let found = knot(imports);
        complaints.extend(found.iter().map(|module| {
            let to = imports[*module].iter().map(String::as_str);
            let to: Vec<&str> = to.filter(|to| found.contains(to)).collect();
            format!("{name}: `{module}` imports {} and is reached from there", to.join(", "))
        }));
    }
    complaints
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let imports = imports(&rust());
    assert!(imports["volume"]["launch"].contains("daemon"), "imports are found");
    none("modules", tied(&imports));
}

#[test]
fn a_circle_is_found() {
    let file = |path: &str, text: &str| (format!("crates/x/src/{path}"), text.to_owned());
    let circle = imports(&[
        file("a.rs", "//! A.\nuse crate::{b::C, d};\n"),
        file("b/inner.rs", "//! B.\nfn f() {\n    super::super::a::g();\n}\n"),
        file("d.rs", "//! D.\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
        file("lib.rs", "//! X.\nuse crate::a;\n"),
    ]);
    assert_eq!(knot(&circle["x"]).into_iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(tied(&circle).len(), 2);
    assert_eq!(first_names("a::{x, y}, c::z, d}; e"), ["a", "c", "d"]);
    assert!(roots("pub(in crate::a) fn f()").is_empty());
}
