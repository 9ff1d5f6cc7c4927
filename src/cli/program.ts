import { Command, CommanderError, type Option, Option as OptionOf } from 'commander';
import { EpisodeError, usage } from '../errors.ts';
import { calledVerb } from './called-verb.ts';
import { columns } from './streams.ts';
import { type Group, VERBS, type Verb } from './verbs.ts';

declare const __VERSION__: string;

type Parameters = { args: string[]; options: Record<string, unknown> };

/** What the command line itself answers, without any verb: a help text or the version. */
interface Informed {
  document: object;
  text: string;
}

/**
 * Reads the command line and runs the verb it names; `null` then. Only that verb has its module loaded, the others are
 * lines of the help. Everything commander objects to comes out as `USAGE` (64).
 */
export async function runCommandLine(
  argv: readonly string[],
  run: (name: string, verb: Verb, parameters: Parameters) => Promise<void>,
): Promise<Informed | null> {
  let informed: Informed | null = null;
  const program = createProgram((text) => {
    informed =
      text === `${__VERSION__}\n` ? { document: { version: __VERSION__ }, text } : { document: { help: text }, text };
  });
  const called = calledVerb(argv);
  // The others are lines of the help, and near misses of a name that is none.
  const named = called !== undefined && Object.hasOwn(VERBS, called) ? [called] : Object.keys(VERBS);
  for (const name of named) {
    const { group, summary } = VERBS[name]!;
    program.commandsGroup(`${group satisfies Group}:`);
    const command = program.command(name).summary(summary).description(sentence(summary)).allowExcessArguments(false);
    if (name !== called) continue;
    const verb = await define(command, name);
    refuseSwallowedOptions([...program.options, ...command.options], argv);
    command.action(() => {
      refuseEmpty(command);
      return hinting(name, () => run(name, verb, { args: command.args, options: command.optsWithGlobals() }));
    });
  }
  program
    .command('help')
    .argument('[topic]', 'a verb, or exits')
    .summary('help for a verb, or for the exit codes')
    .helpGroup('Setup:')
    .action(async (topic?: string) => {
      informed = await explain(program, topic);
    });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error, called);
  }
  return informed;
}

function createProgram(say: (text: string) => void): Command {
  let text = '';
  return new Command('episode')
    .description('Same work or new work, and may it spend money? The ledger of a weekly show.')
    .version(__VERSION__, '--version', 'print the version')
    .option('--root <dir>', 'the show; else $EPISODE_ROOT, else the nearest parent with pipeline.json')
    .option('--json', 'exactly one JSON document on stdout, also on failure')
    .option('--quiet', 'no talk on stderr; errors are still said')
    .addOption(new OptionOf('--now <time>').hideHelp())
    .helpOption('-h, --help', 'help for a verb')
    .helpCommand(false)
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeErr: () => {},
      getOutHasColors: () => false,
      getOutHelpWidth: columns,
      writeOut: (part) => {
        text += part;
        say(text);
      },
    })
    .addHelpText('after', '\nepisode help exits          every error code, its exit code and the next command');
}

async function define(command: Command, name: string): Promise<Verb> {
  const { verb } = await VERBS[name]!.load();
  const { exitLines } = await import('./exits.ts');
  verb.define(command);
  const examples = verb.examples.map((example) => `  ${example}`);
  command.addHelpText('after', () =>
    ['', 'Examples:', ...examples, '', 'Exit codes:', ...exitLines(verb.exits)].join('\n'),
  );
  return verb;
}

/** `episode help`, `episode help VERB`, `episode help exits`. */
async function explain(program: Command, topic: string | undefined): Promise<Informed> {
  if (topic === 'exits') {
    const { exitsDocument, exitsText } = await import('./exits.ts');
    return { document: exitsDocument(), text: exitsText() };
  }
  const command = program.commands.find((candidate) => candidate.name() === topic && topic in VERBS);
  if (topic !== undefined && !command) throw usage(`there is no verb ${topic}`, topic, 'episode --help');
  if (command) await define(command, topic!);
  // `helpInformation` leaves out what was added with `addHelpText`.
  let text = '';
  (command ?? program).configureOutput({ writeOut: (part) => (text += part) });
  (command ?? program).outputHelp();
  return { document: { help: text }, text };
}

const sentence = (summary: string): string => `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;

/**
 * `--key $KEY --json` with an empty variable would make an episode of the key "--json". A value that really begins with
 * two hyphens is written `--key=--value`.
 */
function refuseSwallowedOptions(options: readonly Option[], argv: readonly string[]): void {
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  for (const [index, word] of words.entries()) {
    const option = options.find(({ long, required }) => long === word && required);
    const value = words[index + 1];
    if (!option || !value?.startsWith('--')) continue;
    throw usage(
      `option '${option.flags}' argument missing`,
      word,
      `if ${value} is the value: ${word}=${value}`,
      'if a variable stands there: it is empty; write it in double quotes',
    );
  }
}

/** An empty value is never "all" and never "none": where it stands, a variable was empty. */
function refuseEmpty(command: Command): void {
  const values = command.optsWithGlobals();
  const given = [
    ...[...command.parent!.options, ...command.options].map((option) => [option.long!, values[option.attributeName()]]),
    ...command.registeredArguments.map((argument, index) => [`<${argument.name()}>`, command.args[index]]),
  ];
  for (const [name, value] of given) {
    const empty = [value].flat().some((one) => typeof one === 'string' && one.trim() === '');
    if (empty) throw usage(`${name} is empty`, name, 'leave it out, or give it a value (an empty variable?)');
  }
}

/** A wrong value that comes without advice gets at least the way to the help. */
async function hinting(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof EpisodeError) || error.code !== 'USAGE' || error.hints.length > 0) throw error;
    throw usage(error.message, error.subject ?? name, `episode ${name} --help`);
  }
}

function usageError(error: CommanderError, verb: string | undefined): EpisodeError {
  const known = verb !== undefined && Object.hasOwn(VERBS, verb);
  const help = known ? `episode ${verb} --help` : 'episode --help';
  if (error.code === 'commander.help') return usage('which verb?', 'episode', help);
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean one of (.*)\?\)$/, ' (is one of these meant: $1?)')
    .replace(/\n\(Did you mean (.*)\?\)$/, ' (is "$1" meant?)');
  return new EpisodeError('USAGE', message, { subject: known ? verb : 'episode', hints: [help], cause: error });
}
