//! `forebay completions`: commands and options for shells, from the definitions that are parsed.

use clap_complete::Shell;

use crate::console;
use crate::exit::CommandError;

/// Options of `forebay completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay completions bash > ~/.local/share/bash-completion/completions/forebay\n  \
    forebay completions zsh > ~/.zfunc/_forebay      # a directory in fpath\n  \
    forebay completions fish > ~/.config/fish/completions/forebay.fish"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::command_line_definition(),
        "forebay",
        &mut script,
    );
    console::print(&String::from_utf8_lossy(&script));
    Ok(0)
}
