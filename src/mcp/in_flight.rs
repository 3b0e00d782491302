//! The requests that have no answer yet, by their ids.
//!
//! A client may use the id of a request again that it has cancelled. rmcp knows a request by its id alone, so the end of
//! the first would count as the answer to the second, which then got none: rmcp is told another id of the second.

use std::collections::{HashMap, VecDeque};

use rmcp::model::RequestId;

/// How many cancelled requests are remembered, whose ends may still be to come.
const CANCELLED: usize = 1_024;

/// The requests that have no answer yet, each with what its owner keeps of it.
#[derive(Debug)]
pub struct InFlight<T> {
    /// What rmcp knows each request by, by the client's own id.
    open: HashMap<RequestId, (RequestId, T)>,
    /// The client's ids of requests that rmcp knows by another.
    renamed: HashMap<RequestId, RequestId>,
    /// The client's ids of requests that it has cancelled, the latest last.
    cancelled: VecDeque<RequestId>,
    /// How many requests were renamed.
    renames: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            renamed: HashMap::new(),
            cancelled: VecDeque::new(),
            renames: 0,
        }
    }
}

impl<T> InFlight<T> {
    /// Takes note of a request, and gives the id that rmcp is to know it by: its own, unless the client has cancelled
    /// another request of that id. None if the id is in use, or was and the request goes `by_any_id` only by its own.
    pub fn enter(&mut self, id: &RequestId, by_any_id: bool, kept: T) -> Option<RequestId> {
        if self.open.contains_key(id) {
            return None;
        }
        let mut known_as = id.clone();
        if self.cancelled.contains(id) {
            if !by_any_id {
                return None;
            }
            self.renames += 1;
            known_as = RequestId::String(format!("{id} (again, {})", self.renames).into());
            self.renamed.insert(known_as.clone(), id.clone());
        }
        self.open.insert(id.clone(), (known_as.clone(), kept));
        Some(known_as)
    }

    /// Takes note that the client has cancelled a request, which is answered no more. Gives what rmcp knows it by and
    /// what was kept of it, if it was open.
    pub fn cancel(&mut self, id: &RequestId) -> Option<(RequestId, T)> {
        let (known_as, kept) = self.open.remove(id)?;
        self.renamed.remove(&known_as);
        if !self.cancelled.contains(id) {
            self.cancelled.push_back(id.clone());
            self.cancelled
                .drain(..self.cancelled.len().saturating_sub(CANCELLED));
        }
        Some((known_as, kept))
    }

    /// The client's id of a request that rmcp knows by this one.
    pub fn id_of_client(&self, known_as: &RequestId) -> RequestId {
        self.renamed.get(known_as).unwrap_or(known_as).clone()
    }

    /// Takes note that a request, by the id that rmcp knows, is answered, and gives what was kept of it; none if it was
    /// not open: the client has cancelled it.
    pub fn answer(&mut self, known_as: &RequestId) -> Option<T> {
        let id = self.id_of_client(known_as);
        if self.open.get(&id).is_none_or(|(open, _)| open != known_as) {
            return None;
        }
        self.renamed.remove(known_as);
        self.open.remove(&id).map(|(_, kept)| kept)
    }

    /// What is kept of each.
    pub fn kept(&self) -> impl Iterator<Item = &T> {
        self.open.values().map(|(_, kept)| kept)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_used_again_after_a_cancel_is_another_to_rmcp() {
        let mut requests = InFlight::<u8>::default();
        let id = RequestId::Number(3);
        assert_eq!(requests.enter(&id, true, 7), Some(id.clone()));
        assert_eq!(requests.enter(&id, true, 7), None);
        assert_eq!(requests.cancel(&id), Some((id.clone(), 7)));
        assert_eq!(requests.enter(&id, false, 7), None);
        let second = requests.enter(&id, true, 7).unwrap();
        assert_ne!(second, id);
        assert_eq!(requests.id_of_client(&second), id);
        assert_eq!(requests.cancel(&id), Some((second.clone(), 7)));
        let third = requests.enter(&id, true, 7).unwrap();
        assert!(third != id && third != second);
        // The ends of the others are no answers to it.
        assert!(requests.answer(&id).is_none() && requests.answer(&second).is_none());
        assert_eq!(requests.answer(&third), Some(7));
        assert_eq!((requests.len(), requests.renamed.len()), (0, 0));
        assert_eq!(requests.cancel(&id), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut requests = InFlight::<u8>::default();
        for number in 0..5_000 {
            let id = RequestId::Number(number);
            requests.enter(&id, true, 7);
            requests.cancel(&id);
        }
        assert_eq!(requests.cancelled.len(), CANCELLED);
        assert_eq!(requests.len(), 0);
    }
}
