//! Reading Structured Fields (RFC 9651) with visitors of sfv: what more than one field needs.

use std::convert::Infallible;

use sfv::BareItemFromInput;
use sfv::visitor::{EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ParameterVisitor};

/// Takes the bare item of a Dictionary's entry, without its parameters; `None` for an Inner List.
pub(crate) struct BareEntry<F>(pub(crate) F);

impl<'h, F> EntryVisitor<'h> for BareEntry<F>
where
    F: FnOnce(Option<BareItemFromInput<'h>>),
{
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'h>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'h>, Infallible> {
        self.0(None);
        Ok(Ignored)
    }
}

impl<'h, F> ItemVisitor<'h> for BareEntry<F>
where
    F: FnOnce(Option<BareItemFromInput<'h>>),
{
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'h>,
    ) -> Result<impl ParameterVisitor<'h, Out = ()>, Infallible> {
        self.0(Some(item));
        Ok(Ignored)
    }
}
