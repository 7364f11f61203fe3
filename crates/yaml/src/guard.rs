//! The first pass over a YAML text: measures its expanded size and records the place of everything.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::{
    fault::Fault,
    limits::{MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_NODES},
    place::{Entry, Inside, Node, Places, Spot},
};

/// Walks the parser's events once.
pub(crate) fn survey(text: &str) -> Result<Places, Fault> {
    let mut survey = Survey::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| syntax(text, &error))?;
        survey.event(event, span)?;
    }
    match survey.root {
        Some(root) => Ok(Places { root }),
        None => Err(Fault::new(Spot::at(1, 1), "the file is empty")),
    }
}

#[derive(Default)]
struct Survey {
    open: Vec<Frame>,
    anchors: HashMap<usize, (Arc<Node>, Size)>,
    size: Size,
    documents: usize,
    root: Option<Arc<Node>>,
}

/// The size of a value with its aliases expanded.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    nodes: u64,
    bytes: u64,
    /// Levels of lists and mappings, the value's own included.
    height: usize,
}

/// A list or mapping that has not ended yet.
struct Frame {
    anchor: usize,
    at: Spot,
    /// The size of all that came before it.
    before: Size,
    /// The height of the tallest value in it.
    tallest: usize,
    inside: Inside,
    /// The key whose value is awaited, in a mapping.
    key: Option<(String, Spot)>,
}

impl Survey {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let at = spot_of(&span.start);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Fault::new(at, "a second YAML document begins here, but a file can contain only one")
                        .with_help("put each document into a separate file"));
                }
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::Scalar(text, style, anchor, tag) => {
                check_tag(tag.as_ref(), at)?;
                self.scalar(text, style, anchor, at)
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_ref(), at)?;
                self.begin(anchor, at, Inside::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_ref(), at)?;
                self.begin(anchor, at, Inside::Map(BTreeMap::new()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn scalar(&mut self, text: Cow<'_, str>, style: ScalarStyle, anchor: usize, at: Spot) -> Result<(), Fault> {
        self.grow(Size { nodes: 1, bytes: text.len() as u64, height: 0 }, at)?;
        if let Some(Frame { inside: Inside::Map(entries), key: key @ None, .. }) = self.open.last_mut() {
            if style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                return Err(Fault::new(at, "expected a text as key, found null")
                    .with_help("write the key before the colon; put quotes around a key named null"));
            }
            if let Some(first) = entries.get(&*text) {
                return Err(Fault::new(
                    at,
                    format!("the key `{text}` is a duplicate; the first is on line {}", first.key.line),
                ));
            }
            *key = Some((text.into_owned(), at));
            return Ok(());
        }
        // A missing value has no place of its own, so it gets the line of its key.
        let left_out = text.is_empty() && style == ScalarStyle::Plain;
        let at = match self.open.last() {
            Some(Frame { key: Some((_, key)), .. }) if left_out => *key,
            _ => at,
        };
        let size = Size { nodes: 1, bytes: text.len() as u64, height: 0 };
        self.put(Arc::new(Node { at, inside: Inside::Leaf }), anchor, size)
    }

    fn alias(&mut self, anchor: usize, at: Spot) -> Result<(), Fault> {
        let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
            return Err(Fault::new(at, "this alias is inside its own anchor, so it would never end"));
        };
        self.refuse_as_key(at)?;
        self.grow(size, at)?;
        if self.open.len() + size.height > MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.put(node, 0, size)
    }

    fn begin(&mut self, anchor: usize, at: Spot, inside: Inside) -> Result<(), Fault> {
        self.refuse_as_key(at)?;
        let before = self.size;
        self.grow(Size { nodes: 1, bytes: 0, height: 0 }, at)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.open.push(Frame { anchor, at, before, tallest: 0, inside, key: None });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let size = Size {
            nodes: self.size.nodes - frame.before.nodes,
            bytes: self.size.bytes - frame.before.bytes,
            height: frame.tallest + 1,
        };
        check_merge(&frame.inside)?;
        self.put(Arc::new(Node { at: frame.at, inside: frame.inside }), frame.anchor, size)
    }

    /// Adds a finished value to its parent.
    fn put(&mut self, node: Arc<Node>, anchor: usize, size: Size) -> Result<(), Fault> {
        if anchor > 0 {
            self.anchors.insert(anchor, (Arc::clone(&node), size));
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.tallest = frame.tallest.max(size.height);
        match (&mut frame.inside, frame.key.take()) {
            (Inside::List(items), _) => items.push(node),
            (Inside::Map(entries), Some((name, key))) => {
                entries.insert(name, Entry { key, value: node });
            }
            (Inside::Map(_) | Inside::Leaf, _) => {}
        }
        Ok(())
    }

    fn grow(&mut self, by: Size, at: Spot) -> Result<(), Fault> {
        self.size.nodes = self.size.nodes.saturating_add(by.nodes);
        self.size.bytes = self.size.bytes.saturating_add(by.bytes);
        let help = "aliases count as often as they are used";
        if self.size.nodes > MAX_NODES {
            return Err(
                Fault::new(at, format!("the document has more than {MAX_NODES} values up to here")).with_help(help)
            );
        }
        if self.size.bytes > MAX_EXPANDED_BYTES {
            return Err(Fault::new(
                at,
                format!("the document has more than {MAX_EXPANDED_BYTES} bytes of text up to here"),
            )
            .with_help(help));
        }
        Ok(())
    }

    /// Keys are text, as in JSON.
    fn refuse_as_key(&self, at: Spot) -> Result<(), Fault> {
        match self.open.last() {
            Some(Frame { inside: Inside::Map(_), key: None, .. }) => {
                Err(Fault::new(at, "a key must be plain text, not a list, a mapping or an alias")
                    .with_help("put text that begins with `[`, `{` or `*` in quotes"))
            }
            _ => Ok(()),
        }
    }
}

fn syntax(text: &str, error: &ScanError) -> Fault {
    let at = spot_of(error.marker());
    if error.info().contains("tab") {
        // The parser points at the value before the tab.
        let indented = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        let skipped = (at.line as usize).saturating_sub(1);
        let tab = text.lines().zip(1..).skip(skipped).find(|(line, _)| indented(line));
        let at = tab.map_or(at, |(_, line)| Spot::at(line, 1));
        return Fault::new(at, error.info()).with_help("YAML is indented with spaces, never with tabs");
    }
    // The parser's own limit, met before an event shows the depth.
    if error.info().contains("recursion limit") {
        return too_deep(at);
    }
    // If the text ends too early, the parser points after it, at a line that does not exist.
    let at = if text.lines().nth((at.line as usize).saturating_sub(1)).is_none() { end_of(text) } else { at };
    Fault::new(at, error.info())
        .with_help("check the indentation, the quotes and the brackets here and in the lines above")
}

/// The end of the last line that is not blank.
fn end_of(text: &str) -> Spot {
    let text = text.trim_end();
    let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    let last = text.lines().next_back().unwrap_or_default();
    Spot::at(number(text.lines().count().max(1)), number(last.chars().count().max(1)))
}

fn spot_of(marker: &Marker) -> Spot {
    let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    Spot::at(number(marker.line()), number(marker.col()).saturating_add(1))
}

fn too_deep(at: Spot) -> Fault {
    Fault::new(at, format!("the document is nested more than {MAX_DEPTH} levels deep here"))
}

fn check_tag(tag: Option<&Cow<'_, Tag>>, at: Spot) -> Result<(), Fault> {
    const KNOWN: [&str; 7] = ["str", "int", "float", "bool", "null", "seq", "map"];
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && KNOWN.contains(&tag.suffix.as_str())) => {
            Err(Fault::new(at, format!("the tag `{tag}` means nothing here"))
                .with_help("put text that begins with `!` in quotes"))
        }
        _ => Ok(()),
    }
}

/// `<<` takes a mapping or a list of mappings.
fn check_merge(inside: &Inside) -> Result<(), Fault> {
    let Inside::Map(entries) = inside else { return Ok(()) };
    let Some(merge) = entries.get("<<") else { return Ok(()) };
    let fits = match &merge.value.inside {
        Inside::Map(_) => true,
        Inside::List(items) => items.iter().all(|item| matches!(item.inside, Inside::Map(_))),
        Inside::Leaf => false,
    };
    if fits {
        return Ok(());
    }
    Err(Fault::new(merge.key, "`<<` merges mappings: expected an alias of a mapping, or a list of them"))
}
