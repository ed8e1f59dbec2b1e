"""Shell completion, made from the parser: commands, options and their choices, then files."""

from __future__ import annotations

import argparse
import shlex
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


def script(parser: argparse.ArgumentParser, shell: Literal["bash", "zsh", "fish"]) -> str:
    """A completion script for bash, zsh or fish.

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
    if shell == "fish":
        return _fish(parser)
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


def _fish(parser: argparse.ArgumentParser) -> str:
    """The same for fish, which shows what commands and options do.

    Examples
    --------
    >>> parser = argparse.ArgumentParser("tropicell", add_help=False)
    >>> count = parser.add_subparsers().add_parser("count", description="Count.", add_help=False)
    >>> _ = count.add_argument("--engine", choices=["cells"], help="how")
    >>> print(script(parser, "fish"))
    # Completion for tropicell. Put this line into your config.fish: ...
    complete -c tropicell -n __fish_use_subcommand -f -a count -d Count.
    complete -c tropicell -n '__fish_seen_subcommand_from count' -l engine -d how -x -a cells
    """
    lines = [
        "# Completion for tropicell. Put this line into your config.fish: "
        "tropicell completion fish | source"
    ]
    for name, command in subcommands(parser).items():
        about = (command.description or "").split("\n")[0]
        first = "complete -c tropicell -n __fish_use_subcommand -f"
        lines.append(f"{first} -a {name} -d {shlex.quote(about)}")
    for name, command in subcommands(parser).items():
        seen = shlex.quote(f"__fish_seen_subcommand_from {name}")
        for action in command._actions:
            names = [f"-l {o[2:]}" for o in action.option_strings if o.startswith("--")]
            help_ = action.help if action.help not in (None, argparse.SUPPRESS) else ""
            text = f" -d {shlex.quote(help_.replace('%%', '%'))}" if help_ else ""
            words = shlex.quote(" ".join(map(str, action.choices or ())))
            takes = "" if action.nargs == 0 else f" -x -a {words}" if action.choices else " -r"
            if names:
                lines.append(f"complete -c tropicell -n {seen} {' '.join(names)}{text}{takes}")
            elif action.choices:
                lines.append(f"complete -c tropicell -n {seen} -f -a {words}")
    return "\n".join(lines)


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
