//! What is wrong with a person's set-up, and what mends it.
//!
//! A [`check::Check`] is data: a name, a group, and a function that looks at the [`patient::Patient`] and tells its
//! [`finding::Finding`]s. All run side by side ([`round`]). Some findings carry a [`fix::Fix`], which is done only when a
//! person says so. Tokens are never told, only whether there are some and whether two are the same.

pub mod check;
pub mod chosen;
mod clients;
mod computers;
mod environment;
pub mod finding;
pub mod fix;
mod game;
pub mod known;
mod link;
mod listener;
mod log;
pub mod patient;
mod place;
mod program;
pub mod round;
mod start;

use check::Check;

/// All checks, in the order in which they are shown.
pub const ALL: &[&[Check]] = &[
    program::CHECKS,
    link::CHECKS,
    clients::CHECKS,
    game::CHECKS,
    computers::CHECKS,
];

/// The checks that are called so, by their own names or their groups'; all, if none is named.
///
/// # Errors
/// The first name that is none.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Check>, String> {
    let all = || ALL.iter().copied().flatten();
    let is_called = |check: &Check, name: &str| check.id == name || check.group.name() == name;
    for name in names {
        if !all().any(|check| is_called(check, name)) {
            return Err(name.clone());
        }
    }
    let is_chosen = |check: &&Check| {
        let mut names = names.iter();
        names.len() == 0 || names.any(|name| is_called(check, name))
    };
    Ok(all().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_by_their_names_and_their_groups() {
        let ids = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let ids = chosen(&names).map(|checks| checks.iter().map(|check| check.id).collect());
            ids as Result<Vec<_>, _>
        };
        let all = ids(&[]).unwrap();
        assert!(all.len() > 8);
        assert_eq!(ids(&["port"]).unwrap(), ["port"]);
        let link = ids(&["link"]).unwrap();
        assert!(link.contains(&"port") && link.len() < all.len(), "{link:?}");
        assert_eq!(ids(&["port", "nothing"]).unwrap_err(), "nothing");
    }

    #[test]
    fn no_two_checks_share_a_name_and_none_has_that_of_a_group() {
        let mut names: Vec<_> = ALL
            .iter()
            .copied()
            .flatten()
            .map(|check| check.id)
            .collect();
        let mut groups: Vec<_> = ALL.iter().map(|checks| checks[0].group.name()).collect();
        for checks in ALL {
            assert!(checks.iter().all(|check| check.group == checks[0].group));
        }
        names.append(&mut groups);
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}
