//! A connection: to one server, or to all of a cluster.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, RedisResult, Value};
use redis::{ParsingError, from_redis_value};

/// An answer that takes longer is lost; a connection that takes longer is none.
const TIMEOUT: Duration = Duration::from_secs(1);
/// So often a node of a cluster may send on to another: slots move.
const REDIRECTS: u32 = 3;

/// What is connected to.
#[derive(Clone, Debug)]
pub(super) enum Peer {
    Server(Client),
    /// A node of the cluster, which knows the others.
    Cluster(ConnectionInfo),
}

/// A connection that stands.
#[derive(Clone)]
pub(super) enum Connection {
    Server(MultiplexedConnection),
    /// It connects again by itself, node by node, and subscribes to what it was subscribed to.
    Cluster(ClusterConnection),
}

impl Peer {
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    pub(super) async fn dial(&self, pushed: impl AsyncPushSender) -> RedisResult<Connection> {
        match self {
            Self::Server(client) => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(TIMEOUT))
                    .set_response_timeout(Some(TIMEOUT))
                    .set_push_sender(pushed);
                let connected = client.get_multiplexed_async_connection_with_config(&config);
                Ok(Connection::Server(connected.await?))
            }
            Self::Cluster(node) => {
                let client = ClusterClientBuilder::new([node.clone()])
                    .connection_timeout(TIMEOUT)
                    .response_timeout(TIMEOUT)
                    .retries(REDIRECTS)
                    .push_sender(pushed)
                    .build()?;
                Ok(Connection::Cluster(client.get_async_connection().await?))
            }
        }
    }
}

impl Connection {
    pub(super) async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Server(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }

    pub(super) async fn subscribe(&mut self, channels: &[String]) -> RedisResult<()> {
        match self {
            Self::Server(connection) => connection.subscribe(channels).await,
            Self::Cluster(connection) => connection.subscribe(channels).await,
        }
    }

    pub(super) async fn unsubscribe(&mut self, channels: &[String]) -> RedisResult<()> {
        match self {
            Self::Server(connection) => connection.unsubscribe(channels).await,
            Self::Cluster(connection) => connection.unsubscribe(channels).await,
        }
    }

    /// All keys that match, some perhaps twice: each node has its own.
    pub(super) async fn scan(&mut self, pattern: &str) -> RedisResult<Vec<String>> {
        let mut keys = Vec::new();
        for node in self.nodes().await? {
            let mut cursor = 0_u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("MATCH").arg(pattern);
                scan.arg("COUNT").arg(1000);
                let scanned = match (&mut *self, &node) {
                    (Self::Cluster(connection), Some(node)) => {
                        let node = RoutingInfo::SingleNode(node.clone());
                        connection.route_command(scan, node).await?
                    }
                    _ => self.send(&scan).await?,
                };
                let (next, found): (u64, Vec<String>) = from_redis_value(scanned)?;
                keys.extend(found);
                cursor = next;
                if cursor == 0 {
                    break;
                }
            }
        }
        Ok(keys)
    }

    /// The nodes that hold keys; one without an address where there is one server.
    async fn nodes(&mut self) -> RedisResult<Vec<Option<SingleNodeRoutingInfo>>> {
        let Self::Cluster(connection) = self else {
            return Ok(vec![None]);
        };
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answers = connection.route_command(redis::cmd("PING"), all).await?;
        let answers: HashMap<String, String> = from_redis_value(answers)?;
        let nodes = answers.into_keys().map(|address| {
            let (host, port) = address
                .rsplit_once(':')
                .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)))
                .ok_or_else(|| ParsingError::from(format!("{address} is no address of a node")))?;
            Ok(Some(SingleNodeRoutingInfo::ByAddress { host, port }))
        });
        nodes.collect()
    }
}
