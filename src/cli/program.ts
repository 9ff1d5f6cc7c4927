import { Command, CommanderError, Option } from 'commander';
import { EpisodeError, usage } from '../errors.ts';
import type { GlobalOptions } from './context.ts';
import { instant } from './options.ts';
import { type Group, VERBS, type Verb } from './verbs.ts';

declare const __VERSION__: string;

export type Parameters = { args: string[]; options: Record<string, unknown> };

/**
 * The command line as commander sees it. Only the verb that is called has its module loaded; the others are lines of the
 * help. Everything commander objects to comes out as `USAGE` (64).
 */
export async function createProgram(
  argv: readonly string[],
  run: (name: string, verb: Verb, parameters: Parameters) => Promise<void>,
): Promise<{ parseAsync(argv: string[], options: { from: 'user' }): Promise<void> }> {
  const program = new Command('episode')
    .description('Same work or new work, and may it spend money? The ledger of a weekly show.')
    .version(__VERSION__, '--version', 'print the version')
    .option('--root <dir>', 'the show; else $EPISODE_ROOT, else the nearest parent with pipeline.json')
    .option('--json', 'exactly one JSON document on stdout, also on failure')
    .option('--quiet', 'no talk on stderr; errors are still said')
    .addOption(new Option('--now <time>').hideHelp())
    .helpOption('-h, --help', 'help for a verb')
    .helpCommand(false)
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  program.addHelpText('after', '\nepisode help exits          every error code, its exit code and the next command');

  const called = calledVerb(argv);
  for (const [name, { group, summary, load }] of Object.entries(VERBS)) {
    program.commandsGroup(`${group satisfies Group}:`);
    const command = program.command(name).summary(summary).description(sentence(summary)).allowExcessArguments(false);
    if (name !== called) continue;
    const { verb } = await load();
    verb.define(command);
    command.addHelpText('after', helpAfter(verb));
    command.action(async () => run(name, verb, { args: command.args, options: command.optsWithGlobals() }));
  }
  return {
    async parseAsync(words, from) {
      try {
        if (await helpCommand(program, words)) return;
        await program.parseAsync(words, from);
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        if (error.exitCode === 0) process.exitCode = 0;
        else if (error.code === 'commander.help') throw usage('which verb?', 'episode', 'episode --help');
        else throw usageError(error, called);
      }
    },
  };
}

const sentence = (summary: string): string => `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;

/** The first word that is a verb and not the value of an option before it. */
function calledVerb(argv: readonly string[]): string | undefined {
  const words = argv.filter(
    (word, index) => !['--root', '--now'].includes(argv[index - 1] ?? '') && !word.startsWith('-'),
  );
  const [first, second] = words;
  return first === 'help' ? second : first;
}

/** `episode help`, `episode help VERB`, `episode help exits`. */
async function helpCommand(program: Command, words: readonly string[]): Promise<boolean> {
  const [first, topic] = words.filter((word) => !word.startsWith('-'));
  if (first !== 'help') return false;
  if (topic === 'exits') {
    const { exitsText } = await import('./exits.ts');
    process.stdout.write(exitsText());
  } else {
    const command = program.commands.find((candidate) => candidate.name() === topic);
    if (topic !== undefined && !command) throw usage(`there is no verb ${topic}`, topic, 'episode --help');
    process.stdout.write(helpOf(command ?? program));
  }
  process.exitCode = 0;
  return true;
}

/** `helpInformation` leaves out what was added with `addHelpText`. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

function helpAfter(verb: Verb): string {
  const examples = verb.examples.map((example) => `  ${example}`);
  return `\nExamples:\n${examples.join('\n')}\n\nExit codes: 0 done${verb.exits.map((exit) => `, ${exit}`).join('')} (episode help exits)`;
}

function usageError(error: CommanderError, verb: string | undefined): EpisodeError {
  const message = error.message.replace(/^error: /, '').replace(/\n\(Did you mean (.*)\?\)/, ' (is "$1" meant?)');
  const known = verb !== undefined && verb in VERBS;
  return new EpisodeError('USAGE', message, {
    subject: known ? verb : 'episode',
    hints: [known ? `episode ${verb} --help` : 'episode --help'],
    cause: error,
  });
}

export function readGlobalOptions(given: Record<string, unknown>, env: NodeJS.ProcessEnv): GlobalOptions {
  if (given.now !== undefined && env.EPISODE_TEST !== '1')
    throw usage("unknown option '--now'", '--now', 'episode --help');
  return {
    root: (given.root as string | undefined) ?? null,
    json: given.json === true,
    quiet: given.quiet === true,
    now: given.now === undefined ? null : instant(given.now as string, '--now'),
  };
}
