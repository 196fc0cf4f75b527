//! Where the files of a paper lie, and whose they are.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::fetch::Pdf;
use super::part::{self, Part, Trail};
use super::sidecar::{Owner, Sidecar};
use crate::error::Error;
use crate::id::{self, Identifier};
use crate::pdf;

/// Names that are tried for one paper where files of others have those before.
const MAX_NAMES: u32 = 100;

/// How files lie in the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Each paper in a folder of its own: `doi-10%2E5555%2Fabc/doi-10%2E5555%2Fabc.pdf`.
    #[default]
    Seed,
    /// All papers beside one another.
    Flat,
    /// Folders of papers in some hundred folders, by the prefix of the DOI: for large collections.
    Tree,
}

/// The folder that papers go to.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    root: PathBuf,
    layout: Layout,
    /// The name of the one paper, without its extension.
    name: Option<String>,
}

/// The place of one paper.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    folder: PathBuf,
    stem: String,
    /// Which name is free for the paper, or holds an earlier file of its own.
    number: u32,
    /// Whether what is there under that name is curtsy's, to be replaced.
    own: bool,
    had: Option<Had>,
}

/// A paper that is there.
#[derive(Clone, Debug)]
pub(super) struct Had {
    pub(super) path: PathBuf,
    pub(super) sidecar: Box<Sidecar>,
}

impl Folder {
    /// # Errors
    /// `Configuration`: the name is none of a file in the folder.
    pub(super) fn new(
        root: PathBuf,
        layout: Layout,
        filename: Option<&str>,
    ) -> Result<Self, Error> {
        let name = filename.map(stem_of).transpose()?;
        Ok(Self { root, layout, name })
    }

    pub(super) fn root(&self) -> &PathBuf {
        &self.root
    }

    /// The place of a paper by its own name; `None` where another was chosen.
    pub(super) fn own_shelf(&self, id: &Identifier) -> Option<Shelf> {
        self.name.is_none().then(|| self.shelf(id))
    }

    /// The place of a paper.
    pub(super) fn shelf(&self, id: &Identifier) -> Shelf {
        let stem = self.name.clone().unwrap_or_else(|| id.folder());
        let folder = match (&self.name, self.layout) {
            (Some(_), _) | (None, Layout::Flat) => self.root.clone(),
            (None, Layout::Seed) => self.root.join(&stem),
            (None, Layout::Tree) => {
                let group = match id {
                    Identifier::Doi(doi) => doi.prefix().replace('.', "%2E"),
                    id => id.kind().to_owned(),
                };
                self.root.join(group).join(&stem)
            }
        };
        Shelf {
            folder,
            stem,
            number: 1,
            own: false,
            had: None,
        }
    }
}

/// A name that the user chose, without `.pdf`.
fn stem_of(name: &str) -> Result<String, Error> {
    let stem = match name
        .len()
        .checked_sub(4)
        .and_then(|at| name.split_at_checked(at))
    {
        Some((stem, end)) if end.eq_ignore_ascii_case(".pdf") => stem,
        _ => name,
    };
    let leads_out = stem.contains(['/', '\\', '\0']) || matches!(stem.trim(), "" | "." | "..");
    if leads_out || stem.chars().any(char::is_control) || stem.starts_with('.') {
        return Err(Error::configuration(
            "the file name leads out of the folder or is none: give a plain name, and the folder with --dwn-dir",
        ));
    }
    Ok(id::fit(stem))
}

impl Shelf {
    /// Looks whether the paper is there, unless it is wanted `again`, and else which name is free for it.
    pub(super) fn look(mut self, again: bool) -> io::Result<Self> {
        for number in 1..=MAX_NAMES {
            self.number = number;
            self.finish()?;
            let (pdf, json) = (self.pdf(), self.json());
            let has_pdf = pdf.symlink_metadata().is_ok();
            let sidecar = Sidecar::read(&json)?;
            match sidecar {
                Owner::Nobody if !has_pdf => return Ok(self),
                Owner::Nobody | Owner::Stranger => continue,
                // What an earlier try in vain left, or what is left where somebody deleted the PDF.
                Owner::Known(sidecar) if !has_pdf && sidecar.is_ours() => {
                    self.own = true;
                    return Ok(self);
                }
                Owner::Known(sidecar) if has_pdf && is_whole(&pdf, &sidecar)? => {
                    self.own = sidecar.is_ours();
                    if !again {
                        self.had = Some(Had { path: pdf, sidecar });
                        return Ok(self);
                    }
                    if self.own {
                        return Ok(self);
                    }
                }
                // Not what was put there: somebody's own by now.
                Owner::Known(_) => {}
            }
            self.own = false;
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a hundred files of others have the names of this paper",
        ))
    }

    /// Ends what a run began that was killed after it had put the PDF in its place, and before its record.
    fn finish(&self) -> io::Result<()> {
        let (pdf, json) = (self.pdf(), self.json());
        let left = part::path(&json);
        if !left.try_exists()? || pdf.symlink_metadata().is_err() {
            return Ok(());
        }
        let Owner::Known(record) = Sidecar::read(&left)? else {
            return Ok(());
        };
        let may_replace = match Sidecar::read(&json)? {
            Owner::Nobody => true,
            Owner::Known(old) => old.is_ours(),
            Owner::Stranger => false,
        };
        if may_replace && record.is_ours() && is_whole(&pdf, &record)? {
            fs::rename(&left, &json)?;
            part::sync_folder(&json)?;
        }
        Ok(())
    }

    pub(super) fn had(&self) -> Option<&Had> {
        self.had.as_ref()
    }

    /// A file to stream a copy into.
    pub(super) fn part(&self) -> io::Result<Part> {
        Part::create(&self.pdf())
    }

    /// What a run that was killed had of a copy.
    pub(super) fn leftover(&self) -> io::Result<Option<(Part, Trail)>> {
        Part::take_up(&self.pdf())
    }

    /// Keeps what is not the paper for a person to look at, unless something has that name.
    pub(super) fn suspect(&self, part: &mut Part) -> io::Result<()> {
        part.put(&self.folder.join(self.name("suspect.pdf")), false)
            .map(drop)
    }

    /// Puts a PDF in its place, and the record that `describe` makes beside it. The record is ready before the PDF
    /// is there, so that whenever the process is killed the next run [knows](Self::finish) whose PDF that is.
    pub(super) fn keep(
        mut self,
        mut pdf: Option<Pdf>,
        mut describe: impl FnMut(&Path, Option<&Pdf>) -> Sidecar,
    ) -> io::Result<()> {
        loop {
            let text = describe(&self.pdf(), pdf.as_ref()).to_text();
            let mut record = Part::create(&self.json())?;
            record.write(text.as_bytes())?;
            record.sync()?;
            if let Some(pdf) = &mut pdf
                && !pdf.part.put(&self.pdf(), self.own)?
            {
                // Somebody has put a file there meanwhile.
                self = self.look(true)?;
                continue;
            }
            if !record.put(&self.json(), self.own)? {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "somebody put a record beside the paper meanwhile",
                ));
            }
            return Ok(());
        }
    }

    fn pdf(&self) -> PathBuf {
        self.folder.join(self.name("pdf"))
    }

    fn json(&self) -> PathBuf {
        self.folder.join(self.name("json"))
    }

    fn name(&self, extension: &str) -> String {
        match self.number {
            1 => format!("{}.{extension}", self.stem),
            number => format!("{}-{number}.{extension}", self.stem),
        }
    }
}

/// Whether a file is what its record says, or, where that gives no sum, a whole PDF.
fn is_whole(pdf: &Path, sidecar: &Sidecar) -> io::Result<bool> {
    if !sidecar.download_success || !fs::symlink_metadata(pdf)?.is_file() {
        return Ok(false);
    }
    let verified = pdf::verify(BufReader::new(File::open(pdf)?))?;
    let expected = sidecar
        .curtsy
        .as_ref()
        .and_then(|curtsy| curtsy.sha256.clone());
    Ok(verified.is_ok_and(|verified| {
        expected.is_none_or(|sum| sum == super::sidecar::hex(&verified.sha256))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_the_folder_and_gets_its_extension_once() {
        for (name, stem) in [
            ("paper.pdf", "paper"),
            ("paper", "paper"),
            ("a.b.PDF", "a.b"),
            ("x.json", "x.json"),
        ] {
            assert_eq!(stem_of(name).unwrap(), stem);
        }
        for name in [
            "../x.pdf", "/etc/x", "a/b", "..", ".", "", ".pdf", "a\\b", "a\0b", ".hidden", "a\nb",
            " ",
        ] {
            assert!(stem_of(name).is_err(), "{name:?}");
        }
        assert_eq!(stem_of(&"x".repeat(300)).unwrap().len(), 200);
    }
}
