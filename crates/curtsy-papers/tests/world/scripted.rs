//! Answers, and what a test wants to go wrong.

use super::Arrival;

/// What is sent back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// So many bytes of the body are sent, and then the connection is closed.
    pub(crate) cut_at: Option<usize>,
    /// Nothing is sent for so long first.
    pub(crate) delay: std::time::Duration,
}

impl Answer {
    pub(crate) fn new(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.into(),
            cut_at: None,
            delay: std::time::Duration::ZERO,
        }
    }

    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/json", body)
    }

    pub(crate) fn xml(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/xml", body)
    }

    pub(crate) fn pdf(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/pdf", body)
    }

    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    /// An answer that says nothing but its status.
    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, "text/plain", "")
    }

    pub(crate) fn redirect(to: impl Into<String>) -> Self {
        Self::status(302).header("location", to)
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With its connection closed after so many bytes of the body.
    #[must_use]
    pub(crate) fn cut_at(mut self, bytes: usize) -> Self {
        self.cut_at = Some(bytes);
        self
    }

    #[must_use]
    pub(crate) fn after(mut self, delay: std::time::Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// Another answer than the usual one, to what it fits.
pub(crate) struct Fault {
    host: String,
    path: String,
    left: usize,
    answer: Answer,
}

impl Fault {
    /// To every request for a path at a host, or below it; the path is percent-encoded as on the wire.
    pub(crate) fn new(host: &str, path: &str, answer: Answer) -> Self {
        Self {
            host: host.to_owned(),
            path: path.to_owned(),
            left: usize::MAX,
            answer,
        }
    }

    /// Only so often.
    #[must_use]
    pub(crate) fn times(mut self, times: usize) -> Self {
        self.left = times;
        self
    }

    pub(super) fn answer(&mut self, arrival: &Arrival) -> Option<Answer> {
        let fits = arrival.host == self.host && arrival.path.starts_with(&self.path);
        if !fits || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(self.answer.clone())
    }
}
