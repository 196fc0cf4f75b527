//! Following the frames that an HTTP/2 client writes (RFC 9113 section 4.1), to see requests leave.

/// The connection preface of a client.
const PREFACE_LENGTH: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADER_LENGTH: usize = 9;
const HEADERS: u8 = 0x1;

/// Counts the streams that a client opens in the bytes that it writes.
///
/// It reads the nine-byte frame headers and skips what they announce. Of a `HEADERS` frame only the
/// first for its stream counts: a later one holds trailers.
pub(super) struct NewStreams {
    /// Bytes to pass over before the next frame header.
    skip: usize,
    header: [u8; HEADER_LENGTH],
    header_read: usize,
    newest: u32,
}

impl Default for NewStreams {
    fn default() -> Self {
        Self {
            skip: PREFACE_LENGTH,
            header: [0; HEADER_LENGTH],
            header_read: 0,
            newest: 0,
        }
    }
}

impl NewStreams {
    /// Reads the next bytes of the connection, however they are cut, and answers with the number of
    /// streams opened in them.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> usize {
        let mut opened = 0;
        while !bytes.is_empty() {
            if self.skip > 0 {
                let passed = self.skip.min(bytes.len());
                self.skip -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let taken = (HEADER_LENGTH - self.header_read).min(bytes.len());
            let (now, rest) = bytes.split_at(taken);
            self.header[self.header_read..self.header_read + taken].copy_from_slice(now);
            self.header_read += taken;
            bytes = rest;
            if self.header_read == HEADER_LENGTH {
                opened += usize::from(self.finish_header());
            }
        }
        opened
    }

    fn finish_header(&mut self) -> bool {
        let [l0, l1, l2, kind, _flags, s0, s1, s2, s3] = self.header;
        self.skip = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        self.header_read = 0;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff;
        let opens = kind == HEADERS && stream > self.newest;
        if opens {
            self.newest = stream;
        }
        opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, 0];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn each_new_stream_counts_once_however_the_bytes_are_cut() {
        let bytes = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(0x4, 0, &[0; 18]),
            frame(HEADERS, 1, b"a request"),
            // A payload that looks like a frame that opens a stream.
            frame(0x0, 1, &frame(HEADERS, 9, b"")),
            frame(HEADERS, 1, b"trailers"),
            frame(0x8, 0, &[0; 4]),
            frame(HEADERS, 3, b""),
            frame(0x9, 3, b"continuation"),
        ]
        .concat();
        for size in 1..=bytes.len() {
            let mut frames = NewStreams::default();
            let opened: usize = bytes.chunks(size).map(|chunk| frames.read(chunk)).sum();
            assert_eq!(opened, 2, "in pieces of {size}");
        }
    }
}
