//! Circles of files inside a crate: files that name each other, directly or through others, so that none can be read first.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    str::FromStr,
};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The place of a file among the modules of its crate; the crate's root is empty.
type Module = Vec<String>;

/// The references between the files of one crate, outside of their tests.
#[derive(Default)]
struct Names {
    /// Which module names which paths.
    uses: BTreeMap<Module, Vec<Module>>,
    /// A module's re-exports: `pub use`.
    offers: BTreeMap<Module, BTreeMap<String, Module>>,
}

/// The circles of the crate with sources in `src`: each a sorted list of modules, such as `html/table`.
pub(crate) fn circles(src: &Path) -> Result<Vec<Vec<String>>> {
    let mut names = Names::default();
    read(src, &mut Vec::new(), &mut names)?;
    let arrows = names.arrows();
    let mut found = BTreeSet::new();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|from| (from, reach(from, &arrows))).collect();
    for from in arrows.keys() {
        let circle: Vec<String> =
            reached[from].iter().filter(|to| reached[*to].contains(from)).map(|to| shown(to)).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    Ok(found.into_iter().collect())
}

fn shown(module: &Module) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("/") }
}

/// All that can be reached from a module by at least one arrow.
fn reach<'a>(from: &Module, arrows: &'a BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = arrows[from].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&arrows[next]);
        }
    }
    reached
}

fn read(folder: &Path, place: &mut Module, names: &mut Names) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Tests and test helpers may use anything.
        if ["tests", "test", "fakes", "bin"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            place.push(name);
            read(&path, place, names)?;
            place.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut module = place.clone();
            if !(place.is_empty() && ["lib", "main"].contains(&name.as_str())) {
                module.push(name);
            }
            let text = fs::read_to_string(&path)?;
            let tokens = TokenStream::from_str(&text)
                .map_err(|error| anyhow::anyhow!("failed to read {}: {error}", path.display()))?;
            names.uses.entry(module.clone()).or_default();
            names.add(&module, tokens);
        }
    }
    Ok(())
}

impl Names {
    fn add(&mut self, module: &Module, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_for_tests(&tokens[at..]) {
                at = after_item(&tokens, at + 2);
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(word) if *word == "use" => {
                    let end = (at..tokens.len()).find(|end| is_punct(&tokens[*end], ';')).unwrap_or(tokens.len());
                    let is_offer = at > 0 && is_visibility(&tokens[..at]);
                    for path in paths(&tokens[at + 1..end]) {
                        self.add_use(module, path, is_offer);
                    }
                    at = end;
                }
                TokenTree::Ident(_) if at == 0 || !is_punct(&tokens[at - 1], ':') => {
                    let (path, end) = path(&tokens, at);
                    if path.len() > 1 {
                        self.add_use(module, path, false);
                    }
                    at = end;
                }
                TokenTree::Group(group) => {
                    self.add(module, group.stream());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    fn add_use(&mut self, module: &Module, path: Module, is_offer: bool) {
        if !is_offer {
            self.uses.entry(module.clone()).or_default().push(path);
        } else if let Some(name) = path.last().cloned() {
            self.offers.entry(module.clone()).or_default().insert(name, path);
        }
    }

    fn arrows(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let named = |(module, paths): (&Module, &Vec<Module>)| {
            let targets =
                paths.iter().filter_map(|path| self.target(module, path, 0)).filter(|target| target != module);
            (module.clone(), targets.collect())
        };
        self.uses.iter().map(named).collect()
    }

    /// The module that defines the item at `path`, if it is in this crate.
    fn target(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first => {
                let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
                self.uses.contains_key(&child).then_some((child, &path[1..]))?
            }
        };
        while let [first, others @ ..] = rest {
            let child: Module = at.iter().cloned().chain([first.clone()]).collect();
            if self.uses.contains_key(&child) {
                (at, rest) = (child, others);
            } else if let Some(offered) =
                self.offers.get(&at).and_then(|offers| offers.get(first)).filter(|_| depth < 8)
            {
                return self.target(&at, offered, depth + 1);
            } else {
                break;
            }
        }
        self.uses.contains_key(&at).then_some(at)
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_for_tests(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(attribute), ..] = tokens else { return false };
    let text = attribute.stream().to_string().replace(' ', "");
    is_punct(hash, '#') && (text == "cfg(test)" || text.starts_with("cfg(all(test,"))
}

/// The place after the item that begins at `at`: its first block, or its semicolon.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let ends = |token: &TokenTree| {
        is_punct(token, ';') || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    (at..tokens.len()).find(|place| ends(&tokens[*place])).map_or(tokens.len(), |place| place + 1)
}

/// Whether the tokens before a `use` make it a re-export: `pub`, `pub(crate)`.
fn is_visibility(before: &[TokenTree]) -> bool {
    let word = match before {
        [.., word, TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => word,
        [.., word] => word,
        [] => return false,
    };
    matches!(word, TokenTree::Ident(word) if *word == "pub")
}

/// The path that begins at `at`, and the place after it.
fn path(tokens: &[TokenTree], at: usize) -> (Module, usize) {
    let (mut path, mut at) = (Vec::new(), at);
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string());
        at += 1;
        let goes_on = tokens.get(at).is_some_and(|token| is_punct(token, ':'))
            && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'));
        if !goes_on {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// The paths of a `use`, its braces written out.
fn paths(tokens: &[TokenTree]) -> Vec<Module> {
    let mut found = Vec::new();
    for branch in tokens.split(|token| is_punct(token, ',')) {
        let (stem, end) = path(branch, 0);
        match branch.get(end) {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                found.extend(paths(&inner).into_iter().map(|rest| [stem.clone(), rest].concat()));
            }
            _ if !stem.is_empty() => found.push(stem),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Two files may refer to each other, such as a type and its parts. A larger circle has no file to read first.
    const LARGEST: usize = 2;

    #[test]
    fn no_circle_has_more_than_two_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
        let crates = fs::read_dir(root.join("crates")).expect("crates/").map(|entry| entry.expect("an entry").path());
        let mut large = Vec::new();
        for folder in crates.chain(["worker", "coordinator", "proto", "xtask"].map(|name| root.join(name))) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let circles = circles(&folder.join("src")).expect("sources can be read");
            large.extend(
                circles
                    .into_iter()
                    .filter(|circle| circle.len() > LARGEST)
                    .map(|circle| format!("{name}: {}", circle.join(" "))),
            );
        }
        assert!(large.is_empty(), "circles of more than {LARGEST} files:\n{}", large.join("\n"));
    }

    #[test]
    fn circles_are_found_through_braces_macros_and_offers() {
        let place = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("lib.rs", "mod a; mod b; mod c; mod d;");
        write("a.rs", "use crate::{b::{self, B}, d};\n#[cfg(test)]\nmod tests { use crate::d::e::E; }");
        write("b.rs", "//! Of `crate::d`.\nfn b() { assert!(true, \"{}\", crate::c::C); }");
        write("c.rs", "pub use self::inner::X; mod inner; fn c(a: &crate::a::A) {}");
        write("c/inner.rs", "");
        write("d.rs", "mod e; pub(crate) use e::E;");
        write("d/e.rs", "use super::super::d;");
        assert_eq!(circles(place.path()).expect("they are read"), [["a", "b", "c"]]);
    }
}
