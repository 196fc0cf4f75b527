//! Tables of tests, and how tables are made.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TimeToLiveStatus,
};
use curtsy_store::dynamodb::Expiry;
use curtsy_store::{DynamoDbStore, DynamoDbTable, StoreErrorKind};

use crate::server::{DYNALITE, MOTO, Server, new_table};

impl Server {
    /// A store in a new table.
    pub(crate) async fn open_new(&self) -> DynamoDbStore {
        let table = self.create_new().await;
        let opened = DynamoDbStore::open_with(&table, &config(&self.endpoint())).await;
        opened.unwrap()
    }

    /// A new table.
    pub(crate) async fn create_new(&self) -> DynamoDbTable {
        let table = new_table().parse().unwrap();
        let config = config(&self.endpoint());
        let created = DynamoDbStore::create_table_with(&table, &config).await;
        created.unwrap();
        table
    }

    /// To ask it past the driver.
    pub(crate) fn client(&self) -> Client {
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = aws_sdk_dynamodb::config::Builder::from(&config(&self.endpoint()));
        Client::from_conf(config.http_client(http).build())
    }
}

pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("nobody", "secret", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .build()
}

#[tokio::test]
#[ignore = "needs moto: ./test installs it and runs this"]
async fn a_table_is_billed_by_what_is_used_and_deletes_what_has_expired_however_often_it_is_made() {
    let table: DynamoDbTable = new_table().parse().unwrap();
    for _ in 0..2 {
        let created = DynamoDbStore::create_table_with(&table, &config(&MOTO.endpoint())).await;
        assert_eq!(created.unwrap(), Expiry::Deleted);
    }
    let described = MOTO.client().describe_table().table_name(table.name());
    let described = described.send().await.unwrap().table.unwrap();
    let billing = described.billing_mode_summary.unwrap().billing_mode;
    assert_eq!(billing, Some(BillingMode::PayPerRequest));
    let expiry = MOTO.client().describe_time_to_live();
    let expiry = expiry.table_name(table.name()).send().await.unwrap();
    let expiry = expiry.time_to_live_description.unwrap();
    assert_eq!(expiry.time_to_live_status, Some(TimeToLiveStatus::Enabled));
    assert_eq!(expiry.attribute_name.unwrap(), "expires");
}

#[tokio::test]
#[ignore = "needs dynalite: ./test installs it and runs this"]
async fn of_a_server_that_deletes_nothing_that_is_told() {
    let table = new_table().parse().unwrap();
    let created = DynamoDbStore::create_table_with(&table, &config(&DYNALITE.endpoint())).await;
    assert_eq!(created.unwrap(), Expiry::Kept);
}

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn a_table_of_others_is_left_as_it_is() {
    for server in [&*DYNALITE, &*MOTO] {
        let table: DynamoDbTable = new_table().parse().unwrap();
        let key = KeySchemaElement::builder()
            .attribute_name("id")
            .key_type(KeyType::Hash);
        let id = AttributeDefinition::builder()
            .attribute_name("id")
            .attribute_type(ScalarAttributeType::S);
        let create = server.client().create_table().table_name(table.name());
        let create = create.billing_mode(BillingMode::PayPerRequest);
        let create = create.key_schema(key.build().unwrap());
        let create = create.attribute_definitions(id.build().unwrap());
        create.send().await.unwrap();
        let config = config(&server.endpoint());
        let created = DynamoDbStore::create_table_with(&table, &config).await;
        let error = created.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error:?}");
        assert!(error.to_string().contains("take another name"), "{error}");
        let opened = DynamoDbStore::open_with(&table, &config).await;
        let error = opened.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error:?}");
        assert!(error.to_string().contains("curtsy state init"), "{error}");
    }
}
