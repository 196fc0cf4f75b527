//! `--cite`: the citations of the papers that were had.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use curtsy_papers::cite::{self, Bibliography, Format, Item};
use curtsy_papers::{Access, Answer, Identifier};
use tokio::task::JoinSet;

use super::unavailable;
use super::worse;
use crate::args::CiteFileArgs;
use crate::failure::{Exit, Failure};
use crate::output::complain;
use crate::session;

/// Records that are asked for at once: what Crossref lets be in flight, and a few to wait at the gate.
const AT_ONCE: usize = 8;

/// A paper that is there.
pub(super) struct Had {
    pub(super) id: Identifier,
    pub(super) pdf: PathBuf,
}

/// Writes the citations that are wanted, in the order of the papers, and says what is to be said of those that have none.
/// Beside a PDF, what is there already stays, and is not asked for.
///
/// # Errors
/// A file cannot be written, or the engine failed.
pub(super) async fn write(
    args: &CiteFileArgs,
    access: &Access,
    papers: impl Iterator<Item = Had>,
) -> Result<Exit, Failure> {
    let Some(format) = args.cite else {
        return Ok(Exit::Done);
    };
    let mut target = match &args.cite_file {
        Some(path) => Target::One(OneFile::begin(path, format)?),
        None => Target::Beside(format),
    };
    let mut papers = papers
        .filter(|paper| target.wants(paper))
        .collect::<Vec<_>>()
        .into_iter();
    let mut worst = Exit::Done;
    loop {
        let some: Vec<Had> = papers.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        for (paper, answer) in some.iter().zip(fetch(access, &some).await?) {
            match answer {
                Answer::Found(item) => target.take(paper, &item)?,
                answer => {
                    let what = format!("no citation of {}", paper.id);
                    let failure = unavailable::failure(&what, &answer);
                    complain(&failure);
                    worst = worse(worst, failure.exit());
                }
            }
        }
    }
    if let Target::One(file) = target {
        file.end()?;
    }
    Ok(worst)
}

/// The records of some papers, asked for at once.
async fn fetch(access: &Access, papers: &[Had]) -> Result<Vec<Answer<Item>>, Failure> {
    let mut asked = JoinSet::new();
    for (at, paper) in papers.iter().enumerate() {
        let (access, id) = (access.clone(), paper.id.clone());
        asked.spawn(async move { (at, cite::fetch(&access, &id).await) });
    }
    let mut answers: Vec<_> = papers.iter().map(|_| Answer::NotFound).collect();
    while let Some(joined) = asked.join_next().await {
        let (at, answer) = joined.map_err(|error| Failure::new(Exit::Output, "--cite", error))?;
        answers[at] = answer.map_err(|error| session::paper_failure(&error))?;
    }
    Ok(answers)
}

/// Where citations go.
enum Target {
    /// Each beside its PDF.
    Beside(Format),
    /// All in one file.
    One(OneFile),
}

impl Target {
    fn wants(&self, paper: &Had) -> bool {
        match self {
            Self::Beside(format) => beside(&paper.pdf, *format).symlink_metadata().is_err(),
            Self::One(_) => true,
        }
    }

    fn take(&mut self, paper: &Had, item: &Item) -> Result<(), Failure> {
        match self {
            Self::Beside(format) => {
                let path = beside(&paper.pdf, *format);
                let text = Bibliography::of_one(*format, item);
                create(&path, &text).map_err(|why| unwritten(&path, why))
            }
            Self::One(file) => file.add(item),
        }
    }
}

/// The file of all citations while it is written: under another name until it is whole.
struct OneFile {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    bibliography: Bibliography,
}

impl OneFile {
    fn begin(path: &Path, format: Format) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.curtsy-part"));
        let file = File::create(&part).map_err(|why| unwritten(path, why))?;
        Ok(Self {
            path: path.to_owned(),
            part,
            file: BufWriter::new(file),
            bibliography: Bibliography::new(format),
        })
    }

    fn add(&mut self, item: &Item) -> Result<(), Failure> {
        let entry = self.bibliography.entry(item);
        let written = self.file.write_all(entry.as_bytes());
        written.map_err(|why| unwritten(&self.path, why))
    }

    fn end(mut self) -> Result<(), Failure> {
        let end = self.bibliography.end();
        let written = self.file.write_all(end.as_bytes());
        let flushed = written.and_then(|()| self.file.flush());
        let placed = flushed.and_then(|()| fs::rename(&self.part, &self.path));
        placed.map_err(|why| unwritten(&self.path, why))
    }
}

fn beside(pdf: &Path, format: Format) -> PathBuf {
    pdf.with_extension(format.extension())
}

/// Never in the place of what somebody put there meanwhile.
fn create(path: &Path, text: &str) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn unwritten(path: &Path, why: io::Error) -> Failure {
    Failure::new(Exit::Output, path.display(), why)
}
