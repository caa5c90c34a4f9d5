//! Modules that import each other: an engineer who changes one of them has to know all. Cargo keeps
//! crates apart; this keeps the modules of each folder in an order, at every depth. A module and
//! those within it may use each other: they are one room. What a parent passes on by `pub use` counts
//! as an import of the module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::{none, rust};

/// A path from the root of a crate: `bucket::log` is `["bucket", "log"]`.
type Place = Vec<String>;
/// The modules of one folder, and which of their siblings each imports.
type Siblings = BTreeMap<String, BTreeSet<String>>;

/// What one module names.
#[derive(Default)]
struct Module {
    /// As it stands in the code: `["super", "log", "History"]`.
    named: Vec<Place>,
    /// What it passes on, and where that comes from.
    exports: BTreeMap<String, Place>,
}

impl Module {
    fn add_use(&mut self, tree: &syn::UseTree, mut before: Place, public: bool) {
        let (name, export) = match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                return self.add_use(&path.tree, before, public);
            }
            syn::UseTree::Group(group) => {
                let each = |tree| self.add_use(tree, before.clone(), public);
                return group.items.iter().for_each(each);
            }
            syn::UseTree::Glob(_) => return self.named.push(before),
            syn::UseTree::Name(name) => (&name.ident, &name.ident),
            syn::UseTree::Rename(rename) => (&rename.ident, &rename.rename),
        };
        before.push(name.to_string());
        if public {
            self.exports.insert(export.to_string(), before.clone());
        }
        self.named.push(before);
    }
}

fn only_for_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |list: &syn::MetaList| list.tokens.to_string().starts_with("test");
    let lists = attributes.iter().filter_map(|attribute| attribute.meta.require_list().ok());
    lists.filter(|list| list.path.is_ident("cfg")).any(is_test)
}

impl<'code> Visit<'code> for Module {
    fn visit_item_mod(&mut self, item: &'code syn::ItemMod) {
        if !only_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'code syn::ItemFn) {
        if !only_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'code syn::ItemImpl) {
        if !only_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'code syn::ItemUse) {
        if !only_for_tests(&item.attrs) {
            let public = !matches!(item.vis, syn::Visibility::Inherited);
            self.add_use(&item.tree, Vec::new(), public);
        }
    }

    /// `pub(in crate::a)` says who may come in.
    fn visit_vis_restricted(&mut self, _: &'code syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'code syn::Path) {
        self.named.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The crate of a source file and its place there; nothing for tests, which may look anywhere.
fn place_of(path: &str) -> Option<(&str, Place)> {
    let (name, file) = path.strip_prefix("crates/").unwrap_or(path).split_once("/src/")?;
    let mut place: Place = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if place.len() == 1 && matches!(place[0].as_str(), "lib" | "main") {
        place.clear();
    }
    (!place.iter().any(|part| part == "tests")).then_some((name, place))
}

/// The modules of one crate.
#[derive(Default)]
struct Modules(BTreeMap<Place, Module>);

impl Modules {
    /// The path from the root that `named` means in a module; nothing for what is of other crates.
    fn absolute_path(&self, module: &[String], named: &[String]) -> Option<Place> {
        let ups = named.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match named.first()?.as_str() {
            "crate" => (&module[..0], &named[1..]),
            "self" => (module, &named[1..]),
            "super" => (&module[..module.len().checked_sub(ups)?], &named[ups..]),
            child => {
                let place = [module, &[child.to_owned()]].concat();
                self.0.contains_key(&place).then_some((module, named))?
            }
        };
        Some([base, rest].concat())
    }

    /// The module where an item stands that a path from the root leads to.
    fn home_of(&self, path: &[String], steps: usize) -> Place {
        let longest = (0..=path.len()).rev().map(|end| path.split_at(end));
        let (module, rest) = longest
            .into_iter()
            .find(|(module, _)| self.0.contains_key(*module))
            .unwrap_or((&[], path));
        let passed_on = rest.first().zip(self.0.get(module));
        let passed_on = passed_on.and_then(|(name, of)| of.exports.get(name));
        match passed_on.and_then(|to| self.absolute_path(module, to)).filter(|_| steps > 0) {
            Some(to) => self.home_of(&[to.as_slice(), &rest[1..]].concat(), steps - 1),
            None => module.to_vec(),
        }
    }

    /// For each folder, which of its modules import each other.
    fn siblings_by_folder(&self) -> BTreeMap<Place, Siblings> {
        let mut folders: BTreeMap<Place, Siblings> = BTreeMap::new();
        for (place, module) in &self.0 {
            for named in &module.named {
                let Some(path) = self.absolute_path(place, named) else { continue };
                let to = self.home_of(&path, 8);
                let shared = place.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(into)) = (place.get(shared), to.get(shared)) {
                    let folder = folders.entry(place[..shared].to_vec()).or_default();
                    folder.entry(from.clone()).or_default().insert(into.clone());
                }
            }
        }
        folders
    }
}

fn parse_crates(files: &[(String, String)]) -> BTreeMap<String, Modules> {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for (path, text) in files {
        let Some((name, place)) = place_of(path) else { continue };
        let mut module = Module::default();
        module.visit_file(&syn::parse_file(text).unwrap_or_else(|why| panic!("{path}: {why}")));
        crates.entry(name.to_owned()).or_default().0.insert(place, module);
    }
    crates
}

fn reachable_modules<'i>(siblings: &'i Siblings, from: &'i str) -> BTreeSet<&'i str> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for other in siblings.get(module).into_iter().flatten() {
            if found.insert(other.as_str()) {
                left.push(other);
            }
        }
    }
    found
}

/// Modules that reach themselves.
fn modules_in_circle(siblings: &Siblings) -> BTreeSet<&str> {
    let modules = siblings.keys().map(String::as_str);
    modules.filter(|module| reachable_modules(siblings, module).contains(module)).collect()
}

fn circle_complaints(crates: &BTreeMap<String, Modules>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, modules) in crates {
        for (folder, siblings) in modules.siblings_by_folder() {
            let found = modules_in_circle(&siblings);
            complaints.extend(found.iter().map(|module| {
                let to = siblings[*module].iter().map(String::as_str);
                let to: Vec<&str> = to.filter(|to| found.contains(to)).collect();
                let place = [std::slice::from_ref(name), folder.as_slice()].concat().join("::");
                format!("{place}: `{module}` imports {}, which lead back to it", to.join(", "))
            }));
        }
    }
    complaints
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let crates = parse_crates(&rust());
    let folders = crates["volume"].siblings_by_folder();
    assert!(folders[&Vec::new()]["launch"].contains("daemon"), "imports are found");
    none("modules", circle_complaints(&crates));
}

#[test]
fn a_circle_is_found_at_every_depth_and_behind_what_a_parent_passes_on() {
    let file = |path: &str, text: &str| (format!("crates/x/src/{path}"), text.to_owned());
    let crates = parse_crates(&[
        file("lib.rs", "use crate::a;"),
        file("a.rs", "use crate::{b::C, d}; use std::io; pub(in crate::b) fn f() {}"),
        file("b.rs", "mod inner; mod outer; pub use inner::Thing;"),
        file("b/inner.rs", "fn f() { super::super::a::g(); } use super::outer::Other;"),
        file("b/outer.rs", "use super::Thing;"),
        file("b/tests.rs", "use crate::d;"),
        file("d.rs", "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] use crate::b;"),
    ]);
    let complaints = circle_complaints(&crates);
    let found: Vec<&str> = complaints.iter().filter_map(|said| said.split('`').nth(1)).collect();
    assert_eq!(found, ["a", "b", "inner", "outer"], "{complaints:?}");
    assert!(complaints[2].starts_with("x::b: "), "{complaints:?}");
}
