import { type CredentialSources, findCredential } from '../../credentials.ts';
import { credentialRefused, EpisodeError, providerNotConfigured, usage } from '../../errors.ts';
import { type Config, providerNames, providerType } from '../../model/config.ts';
import type { Check } from '../../model/protocol.ts';
import type { Sheet } from '../../model/sheet.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Context } from '../context.ts';
import { table } from '../render.ts';
import type { Answer, Verb } from '../verbs.ts';

/** What can be done with providers; all of it is free and submits nothing. */
const ACTIONS: Record<string, Action> = {
  list: { run: listProviders, takesParams: false },
  describe: { run: describeProvider, takesParams: false },
  check: { run: checkProvider, takesParams: false },
  certify: { run: certifyProvider, takesParams: true },
};

interface Action {
  run: (context: Context, name: string | undefined, options: Record<string, unknown>) => Promise<Answer>;
  takesParams: boolean;
}

export const verb: Verb = {
  define(command) {
    command
      .argument('<action>', Object.keys(ACTIONS).join(', '))
      .argument('[name]', 'the provider, as pipeline.json names it')
      .option('--params <json>', 'certify: what it is asked to make, e.g. {"prompt":"a harbour"}');
  },
  examples: [
    'episode provider list',
    'episode provider describe fal',
    'episode provider check fal',
    'episode provider certify fal',
  ],
  exits: [64, 65, 69, 76, 78],
  endsItself: true,
  async run(context, { args: [action = '', name], options }) {
    if (!Object.hasOwn(ACTIONS, action)) {
      const known = Object.keys(ACTIONS).join(', ');
      throw usage(
        `"${action.slice(0, 80)}" is nothing that can be done with a provider`,
        'provider',
        `there is ${known}`,
      );
    }
    const { run, takesParams } = ACTIONS[action]!;
    // Written down and without any effect: its writer should hear of it.
    if (options.params !== undefined && !takesParams)
      throw usage(`${action} takes no --params`, '--params', 'only certify does: episode provider certify NAME');
    return run(context, name, options);
  },
};

interface Credential {
  name: string;
  /** Where it is; the value is never looked at here. `null`: nowhere. */
  found: string | null;
  /** Why what is there is not used. */
  fault: string | null;
}

interface Configured {
  provider: string;
  type: NonNullable<ReturnType<typeof providerType>>;
  /** The command of an adapter, the mapping of an HTTP provider. */
  by: string | null;
  credentials: Credential[];
}

async function listProviders(context: Context, name: string | undefined): Promise<Answer> {
  if (name !== undefined) throw usage('list takes no name', name, `episode provider describe ${name}`);
  const config = await context.config();
  const providers = [...providerNames(config)]
    .sort()
    .map((one) => configured(config, one, context.credentialSources()));
  const rows = providers.map(({ provider, type, by, credentials }) => [
    provider,
    type,
    by ?? 'built in; free',
    credentials.map(credentialText).join(', '),
  ]);
  return { document: { providers }, text: `${await table(rows)}\n` };
}

async function describeProvider(context: Context, name: string | undefined): Promise<Answer> {
  const { known, provider } = await ask(context, name, 'describe');
  const sheet = await provider.describe();
  return { document: { ...known, sheet }, text: `${await sheetText(known, sheet)}\n` };
}

async function checkProvider(context: Context, name: string | undefined): Promise<Answer> {
  const asked = await ask(context, name, 'check');
  const { known, provider } = asked;
  // What is made here has nobody to ask.
  const checked: Check | { auth: 'none' } = (await provider.check?.()) ?? { auth: 'none' };
  const balance = checked.auth === 'bad' || checked.auth === 'none' ? null : await balanceOf(context, asked, checked);
  const why = 'message' in checked && typeof checked.message === 'string' ? checked.message : 'it says so itself';
  const left = balance && { amount: balance.amount, unit: balance.unit };
  return {
    document: { ...known, auth: checked.auth, balance: left },
    text: `${known.provider}  ${AUTH[checked.auth]}${left ? `  balance ${left.amount} ${left.unit}` : ''}\n`,
    error: checked.auth === 'bad' ? credentialRefused(known.provider, 'check', why) : null,
  };
}

/** Asked once, and what is not told is no failure: a key that may run models need not be one that sees the account. */
async function balanceOf(
  { talk }: Context,
  { known, provider }: Asked,
  checked: Check,
): Promise<{ amount: string; unit: string } | null> {
  if (checked.balance || !provider.balance) return checked.balance ?? null;
  if (known.type === 'http') {
    // Its check asks for the balance itself.
    talk.note('the balance is not told: a key that may run models need not be one that sees the account');
    return null;
  }
  try {
    return await provider.balance();
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    talk.note(`the balance is not told: ${error.message}`);
    return null;
  }
}

/** Never with the show's credentials: which promises it keeps when everything goes wrong. */
async function certifyProvider(
  context: Context,
  name: string | undefined,
  { params }: Record<string, unknown>,
): Promise<Answer> {
  if (name === undefined)
    throw usage('which provider?', 'provider', 'episode provider certify NAME', 'episode provider list');
  const given = typeof params === 'string' ? parseParams(params) : undefined;
  const { certify } = await import('../certifying.ts');
  return certify(context, name, given);
}

function parseParams(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below, as what is JSON and no object.
  }
  throw usage('--params is no JSON object', '--params', `write it as in a plan: --params '{"prompt":"a harbour"}'`);
}

const AUTH: Record<Check['auth'] | 'none', string> = {
  ok: 'accepts the credentials',
  bad: 'does not accept the credentials',
  unknown: 'does not say whether it accepts the credentials',
  none: 'is built in: free, and takes no credentials',
};

interface Asked {
  known: Configured;
  provider: Provider;
}

async function ask(context: Context, name: string | undefined, action: string): Promise<Asked> {
  if (name === undefined)
    throw usage('which provider?', 'provider', `episode provider ${action} NAME`, 'episode provider list');
  const config = await context.config();
  const known = configured(config, name, context.credentialSources());
  return { known, provider: await (await context.spending('read')).provider(name) };
}

/** Throws `PROVIDER_CONFIGURATION` (78) when there is none of that name. */
function configured(config: Config, name: string, sources: CredentialSources): Configured {
  const type = providerType(config, name);
  if (type === null) throw providerNotConfigured(name, providerNames(config));
  const entry = type === 'assembly' ? undefined : config.providers[name];
  const by =
    entry?.type === 'exec' ? entry.command.join(' ') : entry?.type === 'http' ? `mapping ${entry.mapping}` : null;
  const names = entry && entry.type !== 'local' ? entry.env : [];
  return { provider: name, type, by, credentials: names.map((one) => look(one, sources)) };
}

function look(name: string, sources: CredentialSources): Credential {
  try {
    return { name, found: findCredential(name, sources)?.where ?? null, fault: null };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return { name, found: null, fault: error.message };
  }
}

const credentialText = ({ name, found, fault }: Credential): string =>
  `${name} ${fault ?? (found === null ? 'MISSING' : `found (${found})`)}`;

async function sheetText({ provider, type, by, credentials }: Configured, sheet: Sheet): Promise<string> {
  const { capabilities } = sheet;
  const { lookup, result } = capabilities;
  const proves = [lookup?.proves?.present && 'presence', lookup?.proves?.absent && 'absence'].filter(Boolean);
  const rows = [
    ['calls itself', `${sheet.provider} ${sheet.version}, ${sheet.protocol}`],
    ['makes', sheet.kinds.join(', ')],
    ['answers', capabilities.submit === 'sync' ? 'with the result' : 'with a reference, then is asked'],
    [
      'a crash',
      capabilities.pure ? 'is run again: free and repeatable' : crashText(capabilities.announces_sending === true),
    ],
    ['sent twice', onceText(capabilities)],
    [
      'lookup',
      lookup?.supported ? `proves ${proves.join(' and ') || 'nothing'}${after(lookup.settle_seconds)}` : 'none',
    ],
    [
      'cancel',
      { none: 'none', before_start: 'before it starts', always: 'at any time' }[capabilities.cancel ?? 'none'],
    ],
    ['price before', { none: 'nobody says', table: 'from a table', quoted: 'quoted' }[capabilities.estimate ?? 'none']],
    ['cost after', (capabilities.cost ?? 'none').replaceAll('_', ' ')],
    ['balance', capabilities.balance ? 'can be asked' : 'none'],
    ['keeps results', result?.expiry_seconds ? `${result.expiry_seconds} s` : 'as long as it says'],
    ...credentials.map((one, index) => [index === 0 ? 'credentials' : '', credentialText(one)]),
  ];
  const lines = (await table(rows)).split('\n').map((line) => `  ${line}`);
  return [`${provider}  ${type}${by === null ? '' : `  ${by}`}`, ...lines].join('\n');
}

function onceText({ idempotent_submit: once, pure }: Sheet['capabilities']): string {
  if (pure) return 'costs nothing';
  if (!once?.supported) return 'counts twice';
  return `counts once under one reference${once.window_seconds ? ` for ${once.window_seconds} s` : ''}`;
}

const crashText = (announces: boolean): string =>
  announces ? 'is held from the moment it announced sending' : 'is held from its start';

const after = (seconds: number | null | undefined): string => (seconds ? `, ${seconds} s after it was sent` : '');
