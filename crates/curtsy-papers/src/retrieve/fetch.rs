//! One copy: streamed into a file beside its place, verified, resumed where it broke off.

use std::io::{self, Read, Seek};

use curtsy::{Reply, Request, Response};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderValue};
use url::Url;

use super::PaperRetriever;
use super::folder::Shelf;
use super::part::{Part, Trail};
use crate::answer::Unavailable;
use crate::error::Error;
use crate::pdf::{self, Check, Rejected, Verified};
use crate::plan::Miss;
use crate::reason::Reason;
use crate::source::{Ids, Location};

/// A copy that was fetched, whole and not yet in its place.
#[derive(Debug)]
pub(super) struct Pdf {
    pub(super) part: Part,
    pub(super) verified: Verified,
    pub(super) url: Url,
    pub(super) content_type: Option<String>,
    pub(super) md5_matches: Option<bool>,
}

/// What became of a copy.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) end: Result<Pdf, Miss>,
    /// How many requests departed for it.
    pub(super) requests: u32,
    /// The last status.
    pub(super) status: Option<u16>,
}

/// A download under way.
struct Download<'a> {
    location: &'a Location,
    part: Part,
    check: Check,
    /// What says that the rest is of the same file.
    validator: Option<HeaderValue>,
    content_type: Option<String>,
    requests: u32,
    status: Option<u16>,
    /// Whether the rest was asked for.
    resumed: bool,
    /// Whether the whole was asked for again.
    renewed: bool,
    /// Whether the beginning is of another run, which may have ended with the power and not have written all of it.
    taken_up: bool,
    max_size: u64,
}

/// How a response ended.
enum Stop {
    /// All of it is there.
    Whole(Url),
    /// It broke off, and the rest or the whole may be asked for.
    Broken(Miss),
    /// It is no use.
    Miss(Miss),
}

impl PaperRetriever {
    /// Fetches a copy.
    pub(super) async fn fetch(
        &self,
        location: &Location,
        ids: &Ids,
        shelf: &Shelf,
    ) -> Result<Fetched, Error> {
        let max_size = self.shared.max_size;
        let begun = Download::begin(location, shelf, max_size);
        let mut download = begun.map_err(|error| Error::disk("a paper's folder", error))?;
        let end = loop {
            match self.exchange(&mut download).await? {
                Stop::Miss(miss) => break Err(miss),
                Stop::Broken(miss) => match download.goes_on()? {
                    true => {}
                    false => break Err(miss),
                },
                Stop::Whole(url) => match download.verify()? {
                    Ok(verified) => {
                        let md5_matches = location.md5.map(|md5| md5 == verified.md5);
                        if md5_matches == Some(false) {
                            if download.starts_over()? {
                                continue;
                            }
                            break Err(miss(Reason::Checksum, &url, download.status));
                        }
                        if self.shared.check_identity && download.names_another(ids)? {
                            let kept = shelf.suspect(&mut download.part);
                            kept.map_err(|error| Error::disk("a paper's folder", error))?;
                            break Err(miss(Reason::WrongPaper, &url, download.status));
                        }
                        let Download {
                            part,
                            content_type,
                            requests,
                            status,
                            ..
                        } = download;
                        let pdf = Pdf {
                            part,
                            verified,
                            url,
                            content_type,
                            md5_matches,
                        };
                        return Ok(Fetched {
                            end: Ok(pdf),
                            requests,
                            status,
                        });
                    }
                    Err(_) if download.starts_over()? => {}
                    Err(Rejected::Truncated) if download.goes_on()? => {}
                    Err(rejected) => break Err(miss(rejected.reason(), &url, download.status)),
                },
            }
        };
        Ok(Fetched {
            end,
            requests: download.requests,
            status: download.status,
        })
    }

    async fn exchange(&self, download: &mut Download<'_>) -> Result<Stop, Error> {
        let url = &download.location.url;
        let request = download.request(self)?;
        let response = match self.shared.access.client().execute(request).await {
            Ok(Reply::Response(response)) => response,
            Ok(Reply::Disallowed(no)) => {
                return Ok(Stop::Miss(Unavailable::robots(&no.url).into()));
            }
            Ok(Reply::Deferred(later)) => {
                download.requests += later.attempts;
                return Ok(Stop::Miss(Unavailable::deferred(&later).into()));
            }
            Err(error) => return Ok(Stop::Miss(Unavailable::failed(error, url)?.into())),
        };
        download.requests += response.attempts;
        download.status = Some(response.status.as_u16());
        if let Some(refused) = Unavailable::refused(&response) {
            return Ok(Stop::Miss(refused.into()));
        }
        download.take(response).await
    }
}

impl<'a> Download<'a> {
    /// A download of this copy, from where another run was killed in it or else from its beginning.
    fn begin(location: &'a Location, shelf: &Shelf, max_size: u64) -> io::Result<Self> {
        let (taken_up, trail) = match shelf.leftover()? {
            Some((part, trail)) if trail.url == location.url.as_str() => (Some(part), Some(trail)),
            _ => (None, None),
        };
        let is_taken_up = taken_up.is_some();
        let mut download = Self {
            location,
            part: match taken_up {
                Some(part) => part,
                None => shelf.part()?,
            },
            check: Check::default(),
            validator: None,
            content_type: None,
            requests: 0,
            status: None,
            resumed: false,
            renewed: false,
            taken_up: is_taken_up,
            max_size,
        };
        if let Some(trail) = trail {
            download.validator = HeaderValue::from_str(&trail.validator).ok();
            download.content_type = trail.content_type;
            if !download.read_what_is_there()? {
                download.clear()?;
            }
        }
        Ok(download)
    }

    /// Whether it may be the beginning of a PDF.
    fn read_what_is_there(&mut self) -> io::Result<bool> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match self.part.file()?.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(read) if self.check.write(&buffer[..read]) => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn clear(&mut self) -> io::Result<()> {
        self.check = Check::default();
        self.validator = None;
        self.taken_up = false;
        self.part.clear()
    }

    fn request(&self, retriever: &PaperRetriever) -> Result<Request, Error> {
        let access = &retriever.shared.access;
        let request = access
            .get(&self.location.url)?
            .header(
                ACCEPT,
                HeaderValue::from_static("application/pdf,*/*;q=0.1"),
            )
            // A part of a coded body could not be joined to the rest.
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(match &self.validator {
            Some(validator) if self.check.bytes() > 0 => {
                let range = format!("bytes={}-", self.check.bytes());
                match HeaderValue::from_str(&range) {
                    Ok(range) => request
                        .header(RANGE, range)
                        .header(IF_RANGE, validator.clone()),
                    Err(_) => request,
                }
            }
            _ => request,
        })
    }

    /// Takes a response's body, as far as it is of use.
    async fn take(&mut self, mut response: Response) -> Result<Stop, Error> {
        let status = response.status.as_u16();
        let from = self.check.bytes();
        match status {
            200 => {
                let renewed = self.renew(&response.headers);
                renewed.map_err(|error| Error::disk("a paper's folder", error))?;
            }
            206 if from > 0 && starts_at(&response.headers) == Some(from) => {}
            // What is there is all there is.
            416 if from > 0 => return Ok(Stop::Whole(response.url)),
            404 | 410 => return Ok(Stop::Miss(miss(Reason::NoPdf, &response.url, Some(status)))),
            _ => {
                return Ok(Stop::Miss(miss(
                    Reason::NotPdf,
                    &response.url,
                    Some(status),
                )));
            }
        }
        if length(&response.headers)
            .is_some_and(|length| length.saturating_add(self.check.bytes()) > self.max_size)
        {
            return Ok(Stop::Miss(miss(
                Reason::TooLarge,
                &response.url,
                Some(status),
            )));
        }
        loop {
            match response.body.chunk().await {
                Ok(Some(piece)) => {
                    if self.check.bytes() + piece.len() as u64 > self.max_size {
                        return Ok(Stop::Miss(miss(
                            Reason::TooLarge,
                            &response.url,
                            Some(status),
                        )));
                    }
                    let goes_on = self.check.write(&piece);
                    let written = self.part.write(&piece);
                    written.map_err(|error| Error::disk("a paper's folder", error))?;
                    if !goes_on {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    let why = Unavailable::failed(error, &response.url)?;
                    let is_cut = why.reason == Reason::Network;
                    let why = Miss {
                        reason: if is_cut {
                            Reason::Truncated
                        } else {
                            why.reason
                        },
                        status: Some(status),
                        ..why.into()
                    };
                    return Ok(if is_cut {
                        Stop::Broken(why)
                    } else {
                        Stop::Miss(why)
                    });
                }
            }
        }
        Ok(Stop::Whole(response.url))
    }

    /// The whole is coming, from its beginning.
    fn renew(&mut self, headers: &HeaderMap) -> io::Result<()> {
        // Where the rest was asked for, this is all that asking for the whole would bring.
        self.renewed |= self.resumed;
        self.clear()?;
        let strong = headers
            .get(ETAG)
            .filter(|etag| !etag.as_bytes().starts_with(b"W/"));
        self.validator = strong.or_else(|| headers.get(LAST_MODIFIED)).cloned();
        let content_type = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        self.content_type = content_type.map(|text| text.chars().take(200).collect());
        match self
            .validator
            .as_ref()
            .and_then(|value| value.to_str().ok())
        {
            Some(validator) => self.part.leave(&Trail {
                url: self.location.url.to_string(),
                validator: validator.to_owned(),
                content_type: self.content_type.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Whether there is another way to the rest: first asking for that, then for the whole.
    fn goes_on(&mut self) -> Result<bool, Error> {
        let can_resume = self.validator.is_some() && self.check.bytes() > 0;
        if can_resume && !self.resumed {
            self.resumed = true;
            return Ok(true);
        }
        if self.renewed {
            return Ok(false);
        }
        self.renewed = true;
        self.validator = None;
        Ok(true)
    }

    /// Whether what is wrong may be due to the beginning of another run: then all of it is asked for.
    fn starts_over(&mut self) -> Result<bool, Error> {
        let was_taken_up = self.taken_up;
        if was_taken_up {
            let cleared = self.clear();
            cleared.map_err(|error| Error::disk("a paper's folder", error))?;
        }
        Ok(was_taken_up)
    }

    /// Whether its metadata names works, and none of them is this one. A preprint may name what it became.
    fn names_another(&mut self, ids: &Ids) -> Result<bool, Error> {
        let Some(doi) = ids.doi.as_ref().filter(|_| ids.arxiv.is_none()) else {
            return Ok(false);
        };
        let named = self.part.file().and_then(|file| {
            file.rewind()?;
            pdf::dois(file)
        });
        let named = named.map_err(|error| Error::disk("a paper's folder", error))?;
        Ok(!named.is_empty() && !named.contains(doi))
    }

    fn verify(&mut self) -> Result<Result<Verified, Rejected>, Error> {
        let file = self
            .part
            .file()
            .map_err(|error| Error::disk("a paper's folder", error))?;
        let verified = self.check.clone().finish(file);
        verified.map_err(|error| Error::disk("a paper's folder", error))
    }
}

fn miss(reason: Reason, url: &Url, status: Option<u16>) -> Miss {
    Miss {
        reason,
        host: url.host_str().unwrap_or_default().to_owned(),
        status,
        until: None,
    }
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Where the part begins that came: `bytes 500-999/1000`.
fn starts_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
    start.trim().parse().ok()
}
