// A JSON reader and writer by hand, checked against itself.
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Map(BTreeMap<String, Json>),
}

#[derive(Debug)]
struct Wrong(String);

type Result<T> = std::result::Result<T, Wrong>;

struct Reader {
    text: Vec<char>,
    at: usize,
}

impl Reader {
    fn new(text: &str) -> Reader {
        Reader { text: text.chars().collect(), at: 0 }
    }

    fn peek(&mut self) -> Option<char> {
        while self.at < self.text.len() && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> Result<()> {
        if self.peek() != Some(wanted) {
            return Err(Wrong(format!("expected {} at {}", wanted, self.at)));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Json> {
        let literals = [("true", Json::Bool(true)), ("false", Json::Bool(false)), ("null", Json::Null)];
        match self.peek() {
            Some('{') => return self.members(),
            Some('[') => return self.items(),
            Some('"') => return Ok(Json::Text(self.string()?)),
            _ => {}
        }
        for (word, meaning) in literals {
            if self.text[self.at..].iter().collect::<String>().starts_with(word) {
                self.at += word.len();
                return Ok(meaning);
            }
        }
        self.number()
    }

    fn members(&mut self) -> Result<Json> {
        let mut found = BTreeMap::new();
        self.take('{')?;
        while self.peek() != Some('}') {
            if !found.is_empty() {
                self.take(',')?;
            }
            let key = self.string()?;
            self.take(':')?;
            found.insert(key, self.value()?);
        }
        self.take('}')?;
        Ok(Json::Map(found))
    }

    fn items(&mut self) -> Result<Json> {
        let mut found = Vec::new();
        self.take('[')?;
        while self.peek() != Some(']') {
            if !found.is_empty() {
                self.take(',')?;
            }
            found.push(self.value()?);
        }
        self.take(']')?;
        Ok(Json::List(found))
    }

    fn next(&mut self) -> Result<char> {
        let found = self.text.get(self.at).copied();
        self.at += 1;
        found.ok_or_else(|| Wrong("a string does not end".into()))
    }

    fn string(&mut self) -> Result<String> {
        let mut out = String::new();
        self.take('"')?;
        loop {
            match self.next()? {
                '"' => return Ok(out),
                '\\' => out.push(match self.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'u' => {
                        let digits: String = (0..4).map(|_| self.next()).collect::<Result<_>>()?;
                        let code = u32::from_str_radix(&digits, 16).map_err(|e| Wrong(e.to_string()))?;
                        char::from_u32(code).ok_or_else(|| Wrong("no character".into()))?
                    }
                    other => other,
                }),
                other => out.push(other),
            }
        }
    }

    fn number(&mut self) -> Result<Json> {
        let start = self.at;
        while self.at < self.text.len() && "+-0123456789.eE".contains(self.text[self.at]) {
            self.at += 1;
        }
        let word: String = self.text[start..self.at].iter().collect();
        word.parse().map(Json::Number).map_err(|_| Wrong(format!("no value at {}", start)))
    }
}

fn read(text: &str) -> Result<Json> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    match reader.peek() {
        Some(_) => Err(Wrong("something follows".into())),
        None => Ok(value),
    }
}

fn quote(text: &str) -> String {
    let inner = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{}\"", inner)
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let join = |parts: Vec<String>| parts.join(",");
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{}", value),
            Json::Number(value) => write!(out, "{}", value),
            Json::Text(value) => write!(out, "{}", quote(value)),
            Json::List(items) => write!(out, "[{}]", join(items.iter().map(Json::to_string).collect())),
            Json::Map(members) => {
                let parts = members.iter().map(|(key, value)| format!("{}:{}", quote(key), value));
                write!(out, "{{{}}}", join(parts.collect()))
            }
        }
    }
}

#[derive(Default)]
struct Totals {
    objects: u32,
    arrays: u32,
    strings: u32,
    numbers: u32,
    literals: u32,
    depth: u32,
}

fn count(value: &Json, depth: u32, totals: &mut Totals) {
    match value {
        Json::Map(members) => {
            totals.objects += 1;
            totals.depth = totals.depth.max(depth);
            members.values().for_each(|item| count(item, depth + 1, totals));
        }
        Json::List(items) => {
            totals.arrays += 1;
            totals.depth = totals.depth.max(depth);
            items.iter().for_each(|item| count(item, depth + 1, totals));
        }
        Json::Text(_) => totals.strings += 1,
        Json::Number(_) => totals.numbers += 1,
        _ => totals.literals += 1,
    }
}

fn main() {
    let mut source = String::new();
    io::stdin().read_to_string(&mut source).unwrap();
    let document = read(&source).unwrap();
    let canonical = document.to_string();
    let mut totals = Totals::default();
    count(&document, 1, &mut totals);
    println!("{}", canonical);
    println!(
        "objects={} arrays={} strings={} numbers={} literals={} depth={}",
        totals.objects, totals.arrays, totals.strings, totals.numbers, totals.literals, totals.depth
    );
    let again = read(&canonical).unwrap();
    println!("round trip {}", if again == document && again.to_string() == canonical { "ok" } else { "broken" });
    let rejected = ["{", "[1,]", "{\"a\" 1}"].iter().filter(|text| read(text).is_err()).count();
    println!("rejected {} of 3", rejected);
}
