import { Command } from 'commander';
import { usage } from '../../errors.ts';
import type { Verb } from '../verbs.ts';
import { VERBS } from '../verbs.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const verb: Verb = {
  define(command) {
    command.argument('<shell>', SHELLS.join(', '));
  },
  examples: [
    'episode completion bash >> ~/.bashrc',
    'episode completion fish > ~/.config/fish/completions/episode.fish',
  ],
  exits: [64],
  async run(_context, { args }) {
    const shell = SHELLS.find((candidate) => candidate === args[0]);
    if (!shell) throw usage(`there is no completion for "${args[0]}"`, args[0] ?? '', `there is ${SHELLS.join(', ')}`);
    const script = SCRIPT[shell](await optionsOfVerbs());
    return { document: { shell, script }, text: script };
  },
};

const GLOBAL = ['--help', '--json', '--quiet', '--root'];

/** What may follow each verb, asked of the verbs themselves. */
async function optionsOfVerbs(): Promise<Map<string, string>> {
  const options = new Map<string, string>();
  for (const name of Object.keys(VERBS).sort()) {
    const command = new Command();
    (await VERBS[name]!.load()).verb.define(command);
    options.set(name, [...command.options.map(({ long }) => long!), ...GLOBAL].join(' '));
  }
  return options;
}

/** Episode IDs, which `episode list --json` knows. */
const IDS = `episode list --all --json 2>/dev/null | sed -n 's/^ *"episode_id": "\\(.*\\)",*$/\\1/p' | sort -u`;

const cases = (options: Map<string, string>, line: (flags: string) => string): string =>
  [...options].map(([name, flags]) => `    ${name}) ${line(flags)} ;;`).join('\n');

const verbsOf = (options: Map<string, string>): string => [...options.keys(), 'help'].join(' ');

/** The first word is a verb; after it come its options, or episode IDs, or files when there is no such ID. */
const SCRIPT: Record<(typeof SHELLS)[number], (options: Map<string, string>) => string> = {
  bash: (options) => `_episode() {
  local word="\${COMP_WORDS[COMP_CWORD]}" flags=
  case "\${COMP_WORDS[1]}" in
${cases(options, (flags) => `flags="${flags}"`)}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${verbsOf(options)}" -- "$word"))
  elif [ "\${COMP_WORDS[1]}" = help ]; then COMPREPLY=($(compgen -W "${verbsOf(options)} exits" -- "$word"))
  elif [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else COMPREPLY=($(compgen -W "$(${IDS})" -- "$word")); fi
}
complete -o default -F _episode episode
`,
  zsh: (options) => `#compdef episode
_episode() {
  local flags=
  case "$words[2]" in
${cases(options, (flags) => `flags="${flags}"`)}
  esac
  if (( CURRENT == 2 )); then compadd ${verbsOf(options)}
  elif [[ "$words[2]" == help ]]; then compadd ${verbsOf(options)} exits
  elif [[ "$words[CURRENT]" == -* ]]; then compadd -- \${=flags}
  else compadd -- $(${IDS}); _files; fi
}
compdef _episode episode
`,
  fish: (options) => `complete -c episode -n __fish_use_subcommand -f -a '${verbsOf(options)}'
complete -c episode -n '__fish_seen_subcommand_from help' -f -a '${verbsOf(options)} exits'
complete -c episode -n 'not __fish_use_subcommand' -a "(${IDS})"
${[...options]
  .flatMap(([name, flags]) =>
    flags.split(' ').map((flag) => `complete -c episode -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
  )
  .join('\n')}
`,
};
