//! Server-side scripts.

use redis::Cmd;
use sha1::{Digest, Sha1};

/// A script, known to the server by its hash once it has run.
///
/// Its text is the body of a function; the server's time is answered beside what that returns.
#[derive(Debug)]
pub(super) struct Script {
    text: String,
    hash: String,
}

/// A call of a script, with what it is called with.
#[derive(Debug)]
pub(super) struct Call<'a> {
    script: &'a Script,
    keys: Vec<String>,
    arguments: Vec<Vec<u8>>,
}

impl Script {
    /// A script whose function follows these definitions.
    pub(super) fn new(definitions: &str, body: &str) -> Self {
        let text = format!(
            "{definitions}\nlocal function run()\n{body}\nend\nreturn {{redis.call('TIME'), run()}}"
        );
        let digest = Sha1::digest(text.as_bytes());
        let hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { text, hash }
    }

    pub(super) fn call(&self, key: impl Into<String>) -> Call<'_> {
        Call {
            script: self,
            keys: vec![key.into()],
            arguments: Vec::new(),
        }
    }
}

impl Call<'_> {
    #[must_use]
    pub(super) fn with(mut self, argument: impl AsRef<[u8]>) -> Self {
        self.arguments.push(argument.as_ref().to_vec());
        self
    }

    /// The command for a server that knows the script.
    pub(super) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", &self.script.hash)
    }

    /// The command for one that does not.
    pub(super) fn by_text(&self) -> Cmd {
        self.command("EVAL", &self.script.text)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len()).arg(&self.keys);
        for argument in &self.arguments {
            command.arg(argument.as_slice());
        }
        command
    }
}
