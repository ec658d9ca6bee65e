// One program, many modes: the first argument says which.
use std::fs;
use std::io::{self, BufRead, Write};

fn stdin() {
    let numbers: Vec<i64> = io::stdin()
        .lock()
        .lines()
        .map(|line| line.unwrap().parse().unwrap())
        .collect();
    println!("{} lines, sum {}", numbers.len(), numbers.iter().sum::<i64>());
}

fn files() -> io::Result<()> {
    fs::write("made.txt", "one\n")?;
    let mut made = fs::OpenOptions::new().append(true).open("made.txt")?;
    writeln!(made, "two")?;
    print!("{}", fs::read_to_string("made.txt")?);
    Ok(())
}

fn memory() {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![kept.len() as u8 | 1; 1 << 20]);
    }
}

fn big() {
    let out = io::stdout();
    let mut out = io::BufWriter::new(out.lock());
    for _ in 0..40000 {
        writeln!(out, "{}", "x".repeat(63)).unwrap();
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words[1].as_str() {
        "args" => words[2..].iter().for_each(|word| println!("[{}]", word)),
        "stdin" => stdin(),
        "files" => files().unwrap(),
        "exit" => std::process::exit(7),
        "uncaught" => panic!("deliberate"),
        "forever" => loop {},
        "memory" => memory(),
        "unicode" => println!("Grüße, 世界 🌍 {} {}", words[2], words[2].chars().count()),
        "big" => big(),
        _ => unreachable!(),
    }
}
