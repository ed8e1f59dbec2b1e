"""Shell completion, made from the parser: commands, options and their choices, then files."""

from __future__ import annotations

import argparse
from typing import Literal

_BASH = """\
# Completion for tropicell. Put this line into your {rc}:
#   source <(tropicell completion {shell})
{prelude}_tropicell() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{first}"
    else
        case "$command:$previous" in
{choices}
        *)
            case "$command" in
{commands}
            esac ;;
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
    if [ "${{#COMPREPLY[@]}}" -eq 0 ] && [ "$COMP_CWORD" -gt 1 ]; then
        compopt -o filenames 2>/dev/null
        local file
        while IFS= read -r file; do COMPREPLY+=( "$file" ); done < <(compgen -f -- "$current")
    fi
}}
complete -F _tropicell tropicell"""

_ZSH = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"


def script(parser: argparse.ArgumentParser, shell: Literal["bash", "zsh"]) -> str:
    """A completion script for bash or zsh.

    Examples
    --------
    >>> parser = argparse.ArgumentParser("tropicell")
    >>> count = parser.add_subparsers().add_parser("count")
    >>> _ = count.add_argument("--engine", choices=["cells", "traverse"])
    >>> print(script(parser, "bash"))
    # Completion for tropicell. ...
            count:--engine) words="cells traverse" ;;
    ...
    """
    choices, commands = [], []
    for name, command in subcommands(parser).items():
        for action in command._actions:
            if not action.choices:
                continue
            words = " ".join(map(str, action.choices))
            # A positional argument comes right after the command.
            for option in action.option_strings or [name]:
                choices.append(f'        {name}:{option}) words="{words}" ;;')
        options = " ".join(_options(command))
        commands.append(f'            {name}) words="{options}" ;;')
    return _BASH.format(
        shell=shell,
        rc=f".{shell}rc",
        prelude=_ZSH if shell == "zsh" else "",
        first=" ".join([*subcommands(parser), *_options(parser)]),
        choices="\n".join(choices),
        commands="\n".join(commands),
    )


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser and their own parsers."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    ]
