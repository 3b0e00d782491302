//! What a client finds by words: the same as it may see and use.

use tokio::task::spawn_blocking;

use super::{Listing, Snapshot, View};
use crate::tools::{
    policy::{Verdict, stays},
    refusal::Refusal,
    search::{Document, Finder, Searched, words_of},
};

impl View {
    /// The tools that fit a query, the best first, as the client may have them; all in order of name, if the query has no
    /// words. `knows_its_list`: those in its list are left out.
    ///
    /// It is done beside all else: an index of thousands of tools takes long, and so does a query of a million words.
    pub async fn search(&self, query: &str, knows_its_list: bool) -> Searched {
        let (view, query) = (self.clone(), query.to_owned());
        let search = spawn_blocking(move || view.searched(&query, knows_its_list));
        // It fails where all ends.
        search.await.unwrap_or_default()
    }

    fn searched(&self, query: &str, knows_its_list: bool) -> Searched {
        let finder = self.snapshot.finder();
        let hits = finder.find(query);
        let mut searched = Searched {
            words: words_of(query),
            ..Searched::default()
        };
        let (mut best, mut refused) = (0.0_f32, Vec::new());
        for (name, score) in hits.unwrap_or_else(|| finder.all()) {
            let refusal = match self.snapshot.tools.get(name) {
                Some(listing) if !self.client.may_see(listing.tool.owner()) => continue,
                Some(listing) => match listing.verdict {
                    Verdict::Refused(why) => Refusal::ByPolicy(why),
                    _ if stays(name) => continue,
                    Verdict::Listed if knows_its_list => {
                        searched.in_list.push(name.to_owned());
                        continue;
                    }
                    Verdict::Listed | Verdict::Reachable => {
                        best = best.max(score);
                        searched.tools.push(listing.shown.clone());
                        continue;
                    }
                },
                None => match self.snapshot.withheld.get(name) {
                    Some(tool) if self.client.may_see(tool.owner) => {
                        Refusal::Withheld(tool.reason.clone())
                    }
                    _ => continue,
                },
            };
            best = best.max(score);
            refused.push((name.to_owned(), refusal, score));
        }
        // Others are no reason to believe that this is what was looked for.
        let as_good = refused
            .into_iter()
            .filter(|(_, _, score)| *score >= best / 2.0);
        searched.refused = as_good.map(|(name, refusal, _)| (name, refusal)).collect();
        let mut others = self.listings().filter(|listing| {
            let name = listing.tool.definition().name.as_ref();
            !stays(name) && !matches!(listing.verdict, Verdict::Refused(_))
        });
        searched.are_any = others
            .clone()
            .any(|listing| !knows_its_list || matches!(listing.verdict, Verdict::Reachable));
        searched.knows_others =
            knows_its_list && others.any(|listing| matches!(listing.verdict, Verdict::Listed));
        searched
    }
}

impl Snapshot {
    fn finder(&self) -> &Finder {
        self.finder.get_or_init(|| {
            let of_tool = |(name, listing): (&String, &Listing)| {
                let document = Document::of(&listing.shown, listing.tool.examples());
                (name.clone(), document)
            };
            let tools = self.tools.iter().map(of_tool);
            let withheld = self.withheld.keys();
            let withheld = withheld.filter(|name| !self.tools.contains_key(*name));
            let withheld = withheld.map(|name| (name.clone(), Document::named(name)));
            Finder::of(tools.chain(withheld))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::Arc};

    use futures_util::future::poll_immediate;

    use super::*;
    use crate::tools::Client;

    #[test]
    fn nobody_else_waits_for_a_search() {
        // With one thread for what is done beside, which is held up here.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (go_on, still) = std::sync::mpsc::channel::<()>();
            spawn_blocking(move || still.recv());
            let view = Arc::new(Snapshot::default()).for_client(Client::Anyone);
            let mut search = pin!(view.search("anything", false));
            assert!(poll_immediate(&mut search).await.is_none());
            go_on.send(()).unwrap();
            assert_eq!(search.await.words, ["anything"]);
        });
    }
}
