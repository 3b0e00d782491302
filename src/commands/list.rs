//! Lists of commands: how the help and the command line know of one is said here once.

/// Makes of a list of commands, each a file and the type of its arguments there, the type of any of them. The type's doc
/// is what the help says of the command, and its method, which the list's head names with what it is given, does it.
macro_rules! commands {
    (
        $any:ident, $run:ident($given:ident: $type:ty) -> $answer:ty:
        $($(#[$attribute:meta])* $file:ident::$command:ident,)+
    ) => {
        #[derive(Debug, Subcommand)]
        enum $any {
            $($(#[$attribute])* $command($file::$command),)+
        }

        impl $any {
            fn $run(self, $given: $type) -> $answer {
                match self {
                    $($(#[$attribute])* Self::$command(command) => command.$run($given),)+
                }
            }
        }
    };
}

pub(super) use commands;
