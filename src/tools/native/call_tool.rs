//! `call-tool`: calls any tool there is by its name, for clients that never see a changed list.

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;

use crate::tools::{
    Context,
    arguments::Arguments,
    catalogue::Found,
    entry::{Handled, Handler},
    policy::CALL_TOOL,
};

/// The tool.
pub struct CallTool;

impl Handler for CallTool {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            let context = match context.deeper() {
                Ok(context) => context,
                Err(problem) => return Handled::Failed(problem),
            };
            let mut arguments = Arguments::new(arguments);
            let read = arguments.text("name").and_then(|name| {
                let given = arguments.object("arguments")?;
                arguments.end().map(|()| (name, given))
            });
            let (name, given) = match read {
                Ok(read) => read,
                Err(problem) => return Handled::Failed(problem),
            };
            let name = name.as_str();
            if name == CALL_TOOL {
                return Handled::Failed("call-tool can't call itself.".to_owned());
            }
            let snapshot = context.catalogue.ready().await;
            match snapshot.find(name) {
                Found::Tool(tool) => Handled::Result(tool.call(context, given).await),
                Found::Refused(why) => Handled::Failed(format!("{name} is refused: {why}.")),
                Found::Nothing => Handled::Failed(format!(
                    "There is no tool `{}`. find-tools shows those there are.",
                    crate::base::text::one_line(name)
                )),
            }
        }
        .boxed()
    }
}
