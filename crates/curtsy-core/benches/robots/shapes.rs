//! robots.txt bodies of the kinds that are met, and of the kinds that are meant to hurt.
//!
//! All are made up and the same at every run.

use std::fmt::Write;

/// One body and paths to ask it about: every other one lies under a rule of the body.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) paths: Vec<String>,
}

/// Every shape.
pub(crate) fn all() -> Vec<Shape> {
    KINDS
        .iter()
        .zip(1..)
        .map(|((name, write, coding), seed)| shape(name, *write, *coding, seed))
        .collect()
}

type Writer = fn(&mut Draft);
type Coding = fn(&str) -> Vec<u8>;

const KINDS: [(&str, Writer, Coding); 30] = [
    ("tiny", |d| d.all().line("Disallow:"), lf),
    ("small blog", small_blog, lf),
    ("all denied", |d| d.all().line("Disallow: /"), crlf),
    ("shop", shop, lf),
    ("search engine", search_engine, lf),
    ("wiki in many scripts", wiki, lf),
    ("agents with 30 rules each", |d| d.agents(25, 30), lf),
    ("900 agents, one rule", many_agents, lf),
    ("agents all denied", |d| denied_agents(d, 60), lf),
    ("dated archive", archive, crlf),
    ("delays and rates", delays, lf),
    ("stars everywhere", stars, lf),
    ("runs of stars", star_runs, lf),
    (
        "backtracking",
        |d| {
            d.all()
                .repeat(20, |d| d.line(&format!("Disallow: /{}b$", "a*".repeat(40))))
        },
        lf,
    ),
    ("cyrillic", cyrillic, lf),
    ("cyrillic, one octet a letter", cyrillic, one_octet),
    ("1400 query parameters", query_parameters, lf),
    ("5,000 rules", |d| flat_rules(d, 5_000), lf),
    ("20,000 rules", |d| flat_rules(d, 20_000), lf),
    ("500 groups", |d| d.agents(500, 12), lf),
    ("3,000 sitemaps", sitemaps, lf),
    ("comments", comments, lf),
    ("web page", web_page, lf),
    ("typing errors", typing_errors, lf),
    ("one line", one_line, lf),
    ("one line of 300,000 octets", long_line, lf),
    ("line ends of old Macs", shop, cr),
    ("UTF-8 with mark", shop, utf8_mark),
    ("UTF-16 with mark", shop, utf16_mark),
    ("over 2 MB", |d| d.agents(1_500, 60), lf),
];

const WORDS: [&str; 40] = [
    "account", "archive", "basket", "blog", "book", "cart", "catalog", "checkout", "compare",
    "download", "events", "export", "feed", "files", "forum", "gallery", "help", "images", "item",
    "jobs", "label", "login", "media", "member", "news", "offer", "page", "photo", "print",
    "profile", "query", "report", "review", "search", "session", "shop", "sort", "store", "tag",
    "user",
];

/// A text being written, with numbers that look random.
struct Draft {
    text: String,
    rules: Vec<String>,
    seed: u64,
}

impl Draft {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX generator; its high bits are good enough here.
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % bound
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn path(&mut self, parts: usize) -> String {
        (0..parts).fold(String::from("/"), |path, _| path + self.word() + "/")
    }

    fn all(&mut self) -> &mut Self {
        self.text += "User-agent: *\n";
        self
    }

    fn agent(&mut self) {
        let (first, second) = (self.word(), self.word());
        self.line(&format!("User-agent: {first}{second}bot"));
    }

    fn line(&mut self, line: &str) {
        if let Some((name, pattern)) = line.split_once(": ")
            && matches!(name, "Allow" | "Disallow")
        {
            self.rules.push(pattern.to_owned());
        }
        self.text += line;
        self.text.push('\n');
    }

    fn repeat(&mut self, times: usize, write: impl Fn(&mut Self)) {
        (0..times).for_each(|_| write(self));
    }

    fn deny_paths(&mut self, rules: usize) {
        self.repeat(rules, |d| {
            let path = d.path(2);
            d.line(&format!("Disallow: {path}"));
        });
    }

    fn agents(&mut self, agents: usize, rules: usize) {
        self.repeat(agents, |d| {
            d.agent();
            d.deny_paths(rules);
            d.line("");
        });
        self.all().deny_paths(rules);
    }
}

fn small_blog(d: &mut Draft) {
    d.all();
    for line in [
        "Disallow: /admin/",
        "Allow: /admin/ajax.php",
        "Disallow: /*?reply=",
        "Disallow: /trackback/",
    ] {
        d.line(line);
    }
    d.line("\nSitemap: https://blog.example/sitemap.xml");
}

fn shop(d: &mut Draft) {
    d.line("# a shop");
    d.all().repeat(220, |d| {
        let (one, two) = (d.word(), d.word());
        let path = d.path(2);
        let line = match d.below(5) {
            0 | 1 => format!("Disallow: {path}"),
            2 => format!("Disallow: /*?*{one}="),
            3 => format!("Disallow: /*/{one}/*/{two}$"),
            _ => format!("Allow: {path}{one}.html$"),
        };
        d.line(&line);
    });
    d.line("\nSitemap: https://shop.example/sitemap.xml.gz");
}

fn search_engine(d: &mut Draft) {
    d.all().repeat(260, |d| {
        let name = ["Disallow", "Disallow", "Disallow", "Allow"][d.below(4)];
        let tail = ["", "?", "?q="][d.below(3)];
        let path = d.path(2);
        d.line(&format!("{name}: {path}{tail}"));
    });
    d.agents(3, 2);
}

fn wiki(d: &mut Draft) {
    denied_agents(d, 70);
    d.line("");
    d.all().line("Allow: /w/load?action=view&");
    d.repeat(150, |d| {
        let script = ["Gebrüder", "Участник", "利用者", "Χρήστης", "משתמש"][d.below(5)];
        let word = d.word();
        d.line(&format!("Disallow: /wiki/{script}:{word}"));
        let escapes = script
            .bytes()
            .fold(String::new(), |text, octet| text + &format!("%{octet:02X}"));
        d.line(&format!("Disallow: /wiki/{escapes}%3A{word}"));
    });
}

fn many_agents(d: &mut Draft) {
    d.repeat(900, Draft::agent);
    d.line("Disallow: /\n");
    d.all().line("Crawl-delay: 5");
    d.line("Disallow: /private/");
}

fn denied_agents(d: &mut Draft, agents: usize) {
    d.all().line("Content-Signal: search=yes, ai-train=no");
    d.line("Allow: /");
    d.repeat(agents, |d| {
        d.agent();
        d.line("Disallow: /\n");
    });
}

fn archive(d: &mut Draft) {
    d.all();
    for month in 0..360 {
        d.line(&format!(
            "Disallow: /archive/{}/{:02}/",
            1996 + month / 12,
            1 + month % 12
        ));
    }
    d.repeat(40, |d| {
        let word = d.word();
        d.line(&format!("Disallow: /*{word}*.pdf$"));
    });
}

fn delays(d: &mut Draft) {
    for delay in ["1", "0.5", "10", "30", "2.5", "120"] {
        d.agent();
        d.line(&format!(
            "Crawl-delay: {delay}\nRequest-rate: 1/{delay}\nVisit-time: 0100-0645"
        ));
        d.deny_paths(1);
    }
    d.all().line("Crawl-delay: 15");
    d.line("Disallow: /cgi-bin/");
}

fn stars(d: &mut Draft) {
    d.all().repeat(400, |d| {
        let mut line = String::from("Disallow: /");
        for _ in 0..=d.below(5) {
            line = line + "*" + d.word();
        }
        line += ["", "$", "*", ".html$"][d.below(4)];
        d.line(&line);
    });
}

fn star_runs(d: &mut Draft) {
    d.all().repeat(60, |d| {
        let (one, two) = ("*".repeat(2 + d.below(120)), "*".repeat(1 + d.below(60)));
        let (first, last) = (d.word(), d.word());
        d.line(&format!("Disallow: /{one}{first}{two}{last}"));
    });
}

fn cyrillic(d: &mut Draft) {
    d.all().line("Disallow: /поиск/");
    d.line("Host: orchard.example\nClean-param: ref /shop/\nCrawl-delay: 0.3");
    d.repeat(150, |d| {
        let word = d.word();
        d.line(&format!("Disallow: /каталог/{word}/цена"));
    });
}

fn query_parameters(d: &mut Draft) {
    d.all().repeat(700, |d| {
        let (one, two) = (d.word(), d.word());
        d.line(&format!("Disallow: /*?{one}="));
        d.line(&format!("Disallow: /*&{two}="));
    });
}

fn flat_rules(d: &mut Draft, rules: usize) {
    d.all();
    for number in 0..rules {
        let path = d.path(2);
        d.line(&format!("Disallow: {path}{number}"));
    }
}

fn sitemaps(d: &mut Draft) {
    d.all().line("Disallow: /tmp/");
    for number in 0..3_000 {
        let word = d.word();
        d.line(&format!(
            "Sitemap: https://orchard.example/maps/{word}-{number:05}.xml.gz"
        ));
    }
}

fn comments(d: &mut Draft) {
    d.repeat(3_000, |d| {
        let words = (0..12).fold(String::new(), |words, _| words + " " + d.word());
        d.line(&format!("#{words}"));
    });
    d.all().line("Disallow: /x/");
}

fn web_page(d: &mut Draft) {
    d.line("<!DOCTYPE html>\n<html><head><title>Not found</title><style>");
    d.repeat(200, |d| {
        let word = d.word();
        d.line(&format!(
            ".{word}{{margin:0 auto;color:#00ff00;background:url(/i/{word}.png)}}"
        ));
    });
    d.line("</style></head><body>");
    d.repeat(400, |d| {
        let path = d.path(3);
        d.line(&format!(
            "<p><a href=\"https://orchard.example{path}\">{path}</a></p>"
        ));
    });
}

fn typing_errors(d: &mut Draft) {
    d.repeat(120, |d| {
        let agent = ["Useragent:", "User agent:", "user-agent"][d.below(3)];
        let rule = [
            "Disalow:",
            "Dissallow:",
            "disallow",
            "Disallow :",
            "\tDISALLOW:",
        ][d.below(5)];
        let (word, path) = (d.word(), d.path(2));
        d.line(&format!(
            "{agent} {word}bot\n{rule} {path}\nNoindex: {path}"
        ));
    });
    d.all().line("Disallow: /typo/");
}

fn one_line(d: &mut Draft) {
    let rules = (0..2_000).fold(String::new(), |rules, _| rules + " Disallow: " + &d.path(2));
    d.line(&format!("User-agent: *{rules}"));
}

fn long_line(d: &mut Draft) {
    d.all().line(&format!("Disallow: /{}", "x".repeat(300_000)));
    d.line("Disallow: /after/");
}

fn shape(name: &'static str, write: Writer, coding: Coding, seed: u64) -> Shape {
    let mut draft = Draft {
        text: String::new(),
        rules: Vec::new(),
        seed,
    };
    write(&mut draft);
    let body = coding(&draft.text);
    let paths = (0..64).map(|index| {
        if index % 2 == 0 {
            stranger(&mut draft)
        } else {
            under_a_rule(&mut draft)
        }
    });
    Shape {
        name,
        paths: paths.collect(),
        body,
    }
}

fn stranger(d: &mut Draft) -> String {
    let parts = 1 + d.below(5);
    let tail = ["", "index.html", "?q=1"][d.below(3)];
    d.path(parts) + tail
}

fn under_a_rule(d: &mut Draft) -> String {
    if d.rules.is_empty() {
        return stranger(d);
    }
    let at = d.below(d.rules.len());
    let rule = d.rules[at].clone();
    let tail = ["", "page.html", "?id=7"][d.below(3)];
    let word = d.word();
    let mut path = String::from("/");
    for octet in rule
        .trim_start_matches('/')
        .trim_end_matches('$')
        .bytes()
        .take(2_000)
    {
        match octet {
            b'*' if path.len() < 2_000 => path += word,
            b'!'..=b'~' => path.push(octet.into()),
            _ => write!(path, "%{octet:02X}").expect("a string takes anything"),
        }
    }
    path + tail
}

fn lf(text: &str) -> Vec<u8> {
    text.into()
}

fn crlf(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into()
}

fn cr(text: &str) -> Vec<u8> {
    text.replace('\n', "\r").into()
}

fn utf8_mark(text: &str) -> Vec<u8> {
    ["\u{FEFF}", text].concat().into()
}

fn utf16_mark(text: &str) -> Vec<u8> {
    let marked = ["\u{FEFF}", text].concat();
    marked.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Much as windows-1251: what lies outside ASCII is one octet, and no UTF-8.
fn one_octet(text: &str) -> Vec<u8> {
    text.chars()
        .map(|letter| {
            if letter.is_ascii() {
                letter as u8
            } else {
                letter as u8 | 0xC0
            }
        })
        .collect()
}
