//! From settings to a retriever.

use curtsy_papers::Access;
use curtsy_papers::retrieve::{PaperRetriever, PaperRetrieverBuilder};

use crate::settings::PaperSettings;

/// A retriever of the copies that are wanted.
pub(super) fn retriever(papers: &PaperSettings, access: Access) -> PaperRetrieverBuilder {
    let resolvers = papers.resolver.iter();
    PaperRetriever::builder(access.contact().clone())
        .http_client(access)
        .download_directory(&papers.out_dir)
        .layout(papers.layout.into())
        .sources(papers.source.clone())
        .prefer(papers.prefer.into())
        .licenses(papers.license.clone())
        .max_size(papers.max_size.0)
        .try_landing(papers.try_landing)
        .skip_retracted(papers.skip_retracted)
        .check_identity(papers.check_identity)
        .resolvers(resolvers.map(|given| given.resolver.clone()).collect())
}
