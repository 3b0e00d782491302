//! The flags of settings as arguments of commands.

use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::{
    groups::Group,
    setting::{Form, Setting},
    sources::Flags,
};

/// The flags that set what is in the group `G`, to be flattened into a command's own arguments.
#[derive(Debug)]
pub(crate) struct FlagsOf<G> {
    /// What was given of them.
    pub(crate) given: Flags,
    group: PhantomData<G>,
}

impl<G> Default for FlagsOf<G> {
    /// None given.
    fn default() -> Self {
        Self {
            given: Flags::default(),
            group: PhantomData,
        }
    }
}

impl<G: Group> FlagsOf<G> {
    /// What was given, by the variables of the environment that say the same.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let settings = G::settings().into_iter();
        let given = settings.filter_map(|setting| {
            let value = self.given.value(setting.flag)?;
            Some((setting.variable, value.to_owned()))
        });
        given.collect()
    }
}

impl<G: Group> Args for FlagsOf<G> {
    fn augment_args(command: Command) -> Command {
        command.args(G::settings().iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: Group> FromArgMatches for FlagsOf<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in G::settings() {
            if let Some(value) = value(&setting, matches) {
                self.given.set(setting.flag, value);
            }
        }
        Ok(())
    }
}

/// What clap is to know of a setting.
fn argument(setting: &Setting) -> Arg {
    // Its value is read with those of the other sources, so that clap neither checks it nor fills in the default.
    let mut help = format!("{} [env: {}]", setting.help.trim(), setting.variable);
    if let Some(default) = setting.default {
        help.push_str(&format!(" [default: {default}]"));
    }
    let argument = Arg::new(setting.key)
        .long(setting.flag.trim_start_matches("--"))
        .help(help);
    match setting.form {
        Form::Once(called) => argument.value_name(called).action(ArgAction::Set),
        Form::Often(called) => argument.value_name(called).action(ArgAction::Append),
        Form::Switch => argument.action(ArgAction::SetTrue),
    }
}

fn value(setting: &Setting, matches: &ArgMatches) -> Option<String> {
    if setting.form == Form::Switch {
        return matches.get_flag(setting.key).then(|| "true".to_owned());
    }
    let values: Vec<_> = matches.get_many::<String>(setting.key)?.cloned().collect();
    Some(values.join(","))
}
