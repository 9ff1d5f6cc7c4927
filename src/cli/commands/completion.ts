import { usage } from '../../errors.ts';
import type { Verb } from '../verbs.ts';
import { VERBS } from '../verbs.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

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
    if (!shell) throw usage(`there is no completion for ${args[0]}`, args[0] ?? '', `there is ${SHELLS.join(', ')}`);
    return { document: { shell, script: SCRIPT[shell] }, text: SCRIPT[shell] };
  },
};

const verbs = Object.keys(VERBS).sort();

/** Verbs first, then episode IDs, which `episode list --json` knows. */
const IDS = `episode list --all --json 2>/dev/null | sed -n 's/^ *"episode_id": "\\(.*\\)",*$/\\1/p' | sort -u`;

const SCRIPT: Record<Shell, string> = {
  bash: `_episode() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${verbs.join(' ')} help" -- "$word"))
  else COMPREPLY=($(compgen -W "$(${IDS})" -- "$word")); fi
}
complete -o default -F _episode episode
`,
  zsh: `#compdef episode
_episode() {
  if (( CURRENT == 2 )); then compadd ${verbs.join(' ')} help
  else compadd -- $(${IDS}); _files; fi
}
compdef _episode episode
`,
  fish: `complete -c episode -n __fish_use_subcommand -f -a '${verbs.join(' ')} help'
complete -c episode -n 'not __fish_use_subcommand' -a "(${IDS})"
`,
};
