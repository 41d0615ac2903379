import { Argument, type Command, type Option } from 'commander';
import { createCommand } from './command.ts';
import { type Io, processIo } from './io.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** What may follow a command: its subcommands, options, and the choices of an argument or option. */
interface Place {
  /** `svc jobs list`. */
  path: string;
  commands: readonly Command[];
  options: readonly Option[];
  choices: readonly string[];
}

/**
 * `svc completion`: a script that completes commands, options and their choices in a shell. It is generated from the
 * commands and calls no program, so a completion does not start Node.
 */
export function completionCommand(io: Io = processIo()): Command {
  const command = createCommand('completion', 'Print a completion script for bash, zsh or fish', [
    'source <(svc completion bash)                          for this bash; put the line into ~/.bashrc to keep it',
    'source <(svc completion zsh)                           the same for zsh and ~/.zshrc',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
  ]).addArgument(new Argument('<shell>').choices(shells));
  return command.action((shell: Shell) => {
    const root = command.parent ?? command;
    const places = placesOf(root, root.name());
    io.out.line(scripts[shell](places));
  });
}

function placesOf(command: Command, path: string): Place[] {
  const { commands, registeredArguments } = command;
  const options = command.options.filter(({ hidden }) => !hidden);
  const choices = registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return [
    { path, commands, options, choices },
    ...commands.flatMap((child) => placesOf(child, `${path} ${child.name()}`)),
  ];
}

const scripts: Record<Shell, (places: readonly Place[]) => string> = {
  bash: (places) => `${wordsFunction(places)}
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
  _svc_words "\${COMP_WORDS[@]:0:COMP_CWORD}"
  COMPREPLY=($(compgen -W "$_svc_found" -- "$current"))
}
complete -o default -F _svc svc`,
  zsh: (places) => `${wordsFunction(places)}
_svc() {
  _svc_words "\${words[@]:0:$((CURRENT - 1))}"
  [ -n "$_svc_found" ] && compadd -- \${=_svc_found}
  _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _svc svc`,
  fish: (places) => ['complete -c svc -f', ...places.flatMap(fishLines)].join('\n'),
};

/**
 * A function for bash and zsh that puts the words that may follow the given ones into \`_svc_found\`: the longest known
 * path of commands counts, and the choices of an option have priority.
 */
function wordsFunction(places: readonly Place[]): string {
  const known = places.map(({ path, commands, options, choices }) => {
    const words = [
      ...commands.map((child) => child.name()),
      ...choices,
      ...options.flatMap(flagsOf),
      '--help',
    ];
    return `    ${quote(path)}) _svc_found=${quote(words.join(' '))};;`;
  });
  const limited = places.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      option.argChoices === undefined
        ? []
        : flagsOf(option).map(
            (flag) =>
              `    ${quote(`${path} ${flag}`)}) _svc_found=${quote(option.argChoices?.join(' ') ?? '')};;`,
          ),
    ),
  );
  return `_svc_words() {
  local place=svc word last=
  _svc_found=
  shift
  for word in "$@"; do
    last="$word"
    case "$place $word" in
${places
  .slice(1)
  .map(({ path }) => `      ${quote(path)}) place=${quote(path)};;`)
  .join('\n')}
    esac
  done
  case "$place" in
${known.join('\n')}
  esac
  case "$place $last" in
${limited.join('\n')}
  esac
}`;
}

function fishLines({ path, commands, options, choices }: Place): string[] {
  const [, ...words] = path.split(' ');
  const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
  const unseen =
    commands.length === 0
      ? []
      : [`not __fish_seen_subcommand_from ${commands.map((child) => child.name()).join(' ')}`];
  const here = [...seen, ...unseen].join('; and ');
  const when = here === '' ? '' : ` -n ${quote(here)}`;
  return [
    ...commands.map((child) => `complete -c svc${when} -a ${child.name()} -d ${quote(child.description())}`),
    ...choices.map((choice) => `complete -c svc${when} -a ${quote(choice)}`),
    ...options.map((option) => {
      const names = [
        option.long === undefined || option.long === null ? '' : ` -l ${option.long.slice(2)}`,
        option.short === undefined || option.short === null ? '' : ` -s ${option.short.slice(1)}`,
      ].join('');
      const value = option.argChoices !== undefined ? ' -x' : option.required ? ' -r' : '';
      const values = option.argChoices === undefined ? '' : ` -a ${quote(option.argChoices.join(' '))}`;
      return `complete -c svc${when}${names}${value}${values} -d ${quote(option.description)}`;
    }),
  ];
}

function flagsOf({ long, short }: Option): string[] {
  return [long, short].filter((flag): flag is string => flag !== undefined && flag !== null);
}

/** For a shell, as one word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
