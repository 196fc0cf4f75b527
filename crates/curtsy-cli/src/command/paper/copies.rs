//! From options to a retriever.

use curtsy_papers::Access;
use curtsy_papers::plan::Prefer;
use curtsy_papers::retrieve::{Layout, PaperRetriever, PaperRetrieverBuilder};
use curtsy_papers::source::SourceId;
use curtsy_papers::source::resolver::{Place, Resolver};

use crate::args::{CopyArgs, LayoutArg, PreferArg};
use crate::failure::Failure;

/// A retriever of the copies that are wanted.
///
/// # Errors
/// A source or a resolver makes no sense.
pub(super) fn retriever(
    copies: &CopyArgs,
    access: Access,
) -> Result<PaperRetrieverBuilder, Failure> {
    let mut builder = PaperRetriever::builder(access.contact().clone())
        .http_client(access)
        .download_directory(&copies.out_dir)
        .licenses(copies.license.clone())
        .try_landing(copies.try_landing)
        .skip_retracted(copies.skip_retracted)
        .layout(match copies.layout {
            LayoutArg::Seed => Layout::Seed,
            LayoutArg::Flat => Layout::Flat,
            LayoutArg::Tree => Layout::Tree,
        })
        .prefer(match copies.prefer {
            PreferArg::Soonest => Prefer::Soonest,
            PreferArg::Published => Prefer::Published,
            PreferArg::Licensed => Prefer::Licensed,
        });
    if let Some(size) = copies.max_size {
        builder = builder.max_size(size.0);
    }
    if !copies.source.is_empty() {
        builder = builder.sources(sources(&copies.source)?);
    }
    let resolvers = copies.resolver.iter().map(|text| resolver(text));
    Ok(builder.resolvers(resolvers.collect::<Result<_, _>>()?))
}

fn sources(names: &[String]) -> Result<Vec<SourceId>, Failure> {
    let source = |name: &String| {
        SourceId::named(name).ok_or_else(|| {
            let all: Vec<&str> = SourceId::ALL.iter().map(|source| source.label()).collect();
            Failure::usage(
                format_args!("--source {name}"),
                format_args!("is none of {}", all.join(", ")),
            )
        })
    };
    names.iter().map(source).collect()
}

/// `https://my.library/{doi} -> a.pdf`
fn resolver(text: &str) -> Result<Resolver, Failure> {
    let (template, place) = match text.split_once(" -> ") {
        None => (text, Place::Itself),
        Some((template, pointer)) if pointer.trim().starts_with('/') => {
            (template, Place::Pointer(pointer.trim().to_owned()))
        }
        Some((template, css)) => (template, Place::Selector(css.trim().to_owned())),
    };
    Resolver::new(template.trim(), place).map_err(|why| Failure::usage("--resolver", why))
}
