//! From a text to an expression, by recursive descent with bounds on length, depth and parts.

mod characters;

use serde_json::{Map, Value};

use super::{
    error::Error,
    methods::METHODS,
    node::{Conversion, Entry, Item, Node, Operator},
    value::of_number,
};

const LONGEST: usize = 16 * 1024;
const DEEPEST: usize = 64;
const MOST_PARTS: usize = 500;

/// Methods of JavaScript's lists that only make sense with a function.
const TAKE_FUNCTIONS: [&str; 9] =
    ["every", "filter", "find", "findIndex", "flatMap", "forEach", "map", "reduce", "some"];

/// By precedence, the lowest first; longer operators before their prefixes.
const OPERATORS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or), ("??", Operator::Nullish)],
    &[("&&", Operator::And)],
    &[("===", Operator::Same), ("!==", Operator::NotSame), ("==", Operator::Equal), ("!=", Operator::NotEqual)],
    &[("<=", Operator::AtMost), (">=", Operator::AtLeast), ("<", Operator::Below), (">", Operator::Above)],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over), ("%", Operator::Rest)],
];

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    parts: usize,
}

/// An expression, `return` with one, or a function of `args`, `input` and `context` that gives one.
pub(super) fn function(text: &str) -> Result<Node, Error> {
    let mut parser = Parser::new(text)?;
    let node = parser.function()?;
    parser.end()?;
    Ok(node)
}

/// A text with `${…}`.
pub(super) fn template(text: &str) -> Result<Node, Error> {
    Ok(Node::Template(Parser::new(text)?.pieces(None)?))
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, Error> {
        let parser = Self { text, at: 0, depth: 0, parts: 0 };
        if text.len() > LONGEST {
            return Err(parser.error("it is longer than 16 KiB"));
        }
        Ok(parser)
    }

    fn function(&mut self) -> Result<Node, Error> {
        let begin = self.at;
        if self.word("function") {
            self.name();
            self.expect("(")?;
            self.parameters()?;
            return self.block();
        }
        if self.word("return") {
            return self.expression();
        }
        let has_parameters = if self.eat("(") { self.parameters().is_ok() } else { self.parameter() };
        if has_parameters && self.eat("=>") {
            return if self.peek("{") { self.block() } else { self.expression() };
        }
        self.at = begin;
        self.expression()
    }

    fn parameters(&mut self) -> Result<(), Error> {
        while !self.eat(")") {
            let is_known = self.parameter();
            if !is_known || !self.eat(",") && !self.peek(")") {
                return Err(self.error("a function's parameters can only be args, input, context and state"));
            }
        }
        Ok(())
    }

    /// Parameters are recognised by name, so their order does not matter.
    fn parameter(&mut self) -> bool {
        self.name().is_some_and(|name| ["args", "input", "context", "state"].contains(&name.as_str()))
    }

    fn block(&mut self) -> Result<Node, Error> {
        self.expect("{")?;
        if !self.word("return") {
            return Err(self.error("the function's body may only be `return` with an expression"));
        }
        let node = self.expression()?;
        self.eat(";");
        self.expect("}")?;
        Ok(node)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.eat(";");
        self.space();
        if self.at < self.text.len() { Err(self.unexpected("the end")) } else { Ok(()) }
    }

    fn expression(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("it is nested deeper than 64 levels"));
        }
        let condition = self.binary(0)?;
        let node = if !self.peek("?.") && !self.peek("??") && self.eat("?") {
            let yes = self.expression()?;
            self.expect(":")?;
            Node::Choice(Box::new(condition), Box::new(yes), Box::new(self.expression()?))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(node)
    }

    fn binary(&mut self, level: usize) -> Result<Node, Error> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        // A long chain leans to the left, so it is as deep as a nested expression.
        let mut links = 0;
        while let Some((_, operator)) = operators.iter().find(|(mark, _)| self.eat(mark)) {
            links += 1;
            if links > DEEPEST {
                return Err(self.error("it chains more than 64 operators"));
            }
            let right = self.binary(level + 1)?;
            left = Node::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("it is nested deeper than 64 levels"));
        }
        let node = if self.eat("!") {
            Node::Not(Box::new(self.unary()?))
        } else if self.eat("-") {
            Node::Minus(Box::new(self.unary()?))
        } else {
            self.postfix()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn postfix(&mut self) -> Result<Node, Error> {
        let mut node = self.primary()?;
        let mut links = 0;
        loop {
            let optional = self.eat("?.");
            if self.eat("[") {
                let at = self.expression()?;
                self.expect("]")?;
                node = Node::Index(Box::new(node), Box::new(at));
            } else if optional || !self.peek("...") && self.eat(".") {
                let name = self.name().ok_or_else(|| self.unexpected("a name"))?;
                node = if self.eat("(") { self.method(node, &name)? } else { Node::Property(Box::new(node), name) };
            } else {
                return Ok(node);
            }
            links += 1;
            if links > DEEPEST {
                return Err(self.error("it is nested deeper than 64 levels"));
            }
        }
    }

    fn method(&mut self, of: Node, name: &str) -> Result<Node, Error> {
        let Some((_, method, least, most)) = METHODS.iter().find(|(known, ..)| *known == name) else {
            if TAKE_FUNCTIONS.contains(&name) {
                return Err(self.error(&format!(
                    "there is no method `{name}`: functions cannot be arguments; name items by their place (`args[0]`), \
                     use includes(), or write a mock for each case with `when.input`"
                )));
            }
            let known: Vec<&str> = METHODS.iter().map(|(name, ..)| *name).collect();
            return Err(self.error(&format!("there is no method `{name}`; there are {}", known.join(", "))));
        };
        let mut arguments = Vec::new();
        while !self.eat(")") {
            arguments.push(self.expression()?);
            if !self.eat(",") && !self.peek(")") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        if !(*least..=*most).contains(&arguments.len()) {
            return Err(self.error(&format!("`{name}` does not take {} arguments", arguments.len())));
        }
        Ok(Node::Method(Box::new(of), *method, arguments))
    }

    fn primary(&mut self) -> Result<Node, Error> {
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Err(self.error("it has more than 500 parts"));
        }
        if self.eat("(") || self.eat("${") {
            let closing = if self.text[..self.at].ends_with('(') { ")" } else { "}" };
            let node = self.expression()?;
            self.expect(closing)?;
            return Ok(node);
        }
        if self.eat("[") {
            return self.list();
        }
        if self.eat("{") {
            return self.object();
        }
        self.space();
        match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => Ok(Node::Literal(self.quoted(quote)?.into())),
            Some('`') => {
                self.at += 1;
                Ok(Node::Text(self.pieces(Some('`'))?))
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            _ => match self.name() {
                Some(name) => self.named(&name),
                None => Err(self.unexpected("a value")),
            },
        }
    }

    fn named(&mut self, name: &str) -> Result<Node, Error> {
        let convert = match name {
            "args" => return Ok(Node::Args),
            "input" => return Ok(Node::Input),
            "context" => return Ok(Node::Context),
            "state" => return Ok(Node::State),
            "true" => return Ok(Node::Literal(Value::Bool(true))),
            "false" => return Ok(Node::Literal(Value::Bool(false))),
            "null" | "undefined" => return Ok(Node::Literal(Value::Null)),
            "Date" => return self.marks(&[".", "now", "(", ")"]).map(|()| Node::Now),
            "new" => return self.marks(&["Date", "(", ")", ".", "toISOString", "(", ")"]).map(|()| Node::NowText),
            "JSON" => {
                self.marks(&[".", "stringify"])?;
                Conversion::Json
            }
            "String" => Conversion::String,
            "Number" => Conversion::Number,
            "Boolean" => Conversion::Boolean,
            other => {
                let message = format!("there is no `{other}`; there are args, input, context and state");
                return Err(self.error(&message));
            }
        };
        self.expect("(")?;
        let part = self.expression()?;
        self.expect(")")?;
        Ok(Node::Convert(convert, Box::new(part)))
    }

    fn list(&mut self) -> Result<Node, Error> {
        let mut items = Vec::new();
        while !self.eat("]") {
            items.push(if self.eat("...") { Item::Spread(self.expression()?) } else { Item::One(self.expression()?) });
            if !self.eat(",") && !self.peek("]") {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        Ok(Node::List(items))
    }

    fn object(&mut self) -> Result<Node, Error> {
        let mut entries = Vec::new();
        while !self.eat("}") {
            entries.push(if self.eat("...") { Entry::Spread(self.expression()?) } else { self.pair()? });
            if !self.eat(",") && !self.peek("}") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        // `{}` alone is a value too.
        Ok(if entries.is_empty() { Node::Literal(Value::Object(Map::new())) } else { Node::Object(entries) })
    }

    fn pair(&mut self) -> Result<Entry, Error> {
        self.space();
        let key = match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote)?,
            _ => {
                let name = self.name().ok_or_else(|| self.unexpected("a key"))?;
                if !self.peek(":") {
                    let node = self.named(&name)?;
                    return Ok(Entry::Pair(name, node));
                }
                name
            }
        };
        self.expect(":")?;
        Ok(Entry::Pair(key, self.expression()?))
    }

    fn number(&mut self) -> Result<Node, Error> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
        let written = &rest[..end];
        let number = written.replace('_', "").parse::<f64>();
        let number = number.map_err(|_| self.error(&format!("`{written}` is not a number")))?;
        self.at += end;
        Ok(Node::Literal(of_number(number)))
    }

    /// Up to the quote, or to the end of the text without one.
    fn pieces(&mut self, quote: Option<char>) -> Result<Vec<Node>, Error> {
        let mut pieces = Vec::new();
        let mut said = String::new();
        loop {
            if self.rest().starts_with("${") {
                self.at += 2;
                pieces.push(Node::Literal(std::mem::take(&mut said).into()));
                pieces.push(self.expression()?);
                self.expect("}")?;
                continue;
            }
            match self.next() {
                Some('\\') if quote.is_some() => said.extend(self.escaped()),
                Some(c) if Some(c) == quote => break,
                Some(c) => said.push(c),
                None if quote.is_none() => break,
                None => return Err(self.error("a template has no end")),
            }
        }
        pieces.push(Node::Literal(said.into()));
        Ok(pieces)
    }
}
