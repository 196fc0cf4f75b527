//! A server that answers the same to whatever it is asked.

use std::io::{Read, Write};
use std::net::TcpListener;

/// Its endpoint; it ends with this process.
pub(crate) fn answers(head: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            // The whole of it comes at once.
            let _ = client.read(&mut [0; 16 * 1024]);
            let _ = client.write_all(answer.as_bytes());
        }
    });
    endpoint
}

/// Of one that refuses as DynamoDB does.
pub(crate) fn refuses(code: &str) -> String {
    let body =
        format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"It is refused."}}"#);
    let head = "400 Bad Request\r\nContent-Type: application/x-amz-json-1.0";
    answers(head, &body)
}
