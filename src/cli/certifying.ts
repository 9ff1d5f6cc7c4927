import { resolve } from 'node:path';
import { EpisodeError, providerNotConfigured, usage } from '../errors.ts';
import { parseStrict } from '../json/strict-json.ts';
import { type ProviderConfig, providerNames, providerType } from '../model/config.ts';
import { identify } from '../process-identity.ts';
import type { Promised } from '../providers/certify/promised.ts';
import type { Context } from './context.ts';
import type { Answer } from './verbs.ts';

type Entry<T extends ProviderConfig['type']> = Extract<ProviderConfig, { type: T }>;

/**
 * Tries which promises a provider keeps, with made-up credentials: those of the show are not even looked for.
 * `PROVIDER_PROTOCOL` (76) when one is broken. Writes nothing in the show, and needs no ledger.
 * `params`: what it is asked to make; what is built in is asked for what it is known to make, and `USAGE` (64) with any.
 */
export async function certify(
  context: Context,
  name: string,
  params: Record<string, unknown> | undefined,
): Promise<Answer> {
  const config = await context.config();
  const type = providerType(config, name);
  if (type === null) throw providerNotConfigured(name, providerNames(config));
  if (params !== undefined && (type === 'local' || type === 'assembly'))
    throw usage(
      `${name} is built in, and certify takes no --params for it`,
      '--params',
      `episode provider certify ${name}`,
    );
  const entry = config.providers[name];
  const trying =
    type === 'http'
      ? tryHttp(context, name, entry as Entry<'http'>, params ?? {})
      : type === 'exec'
        ? tryExec(context, name, entry as Entry<'exec'>, params ?? {})
        : tryBuiltIn(context, name, type);
  const promises = await trying.catch((error: unknown) => {
    // Half of the promises would look like all of them.
    if (context.interrupted.aborted) return null;
    throw error;
  });
  if (promises === null) return { document: { provider: name, type, promises: [] }, text: '' };
  const broken = promises.filter(({ holds }) => holds === false).map(({ id }) => id);
  return {
    document: { provider: name, type, promises },
    text: textOf(promises),
    error: broken.length > 0 ? breaks(name, broken) : null,
  };
}

async function tryHttp(
  { port, root, interrupted }: Context,
  name: string,
  entry: Entry<'http'>,
  params: Record<string, unknown>,
): Promise<Promised[]> {
  const [{ loadMapping }, { createHttpProvider }, { certifyHttp }] = await Promise.all([
    import('../providers/http/load.ts'),
    import('../providers/http/http-provider.ts'),
    import('../providers/certify/http.ts'),
  ]);
  const mapping = await loadMapping(name, entry, async (path) =>
    parseStrict(await port.disk.readFile(resolve(root(), path))),
  );
  return certifyHttp({
    name,
    mapping,
    create: createHttpProvider,
    now: port.now,
    random: port.random,
    params,
    interrupted,
  });
}

async function tryExec(
  context: Context,
  name: string,
  entry: Entry<'exec'>,
  params: Record<string, unknown>,
): Promise<Promised[]> {
  const [{ createExecProvider }, { certifyExec }] = await Promise.all([
    import('../providers/exec/exec-provider.ts'),
    import('../providers/certify/exec.ts'),
  ]);
  return certifyExec({
    name,
    command: entry.command,
    cwd: context.root(),
    variables: entry.env,
    params,
    create: createExecProvider,
    identify,
    interrupted: context.interrupted,
    port: context.port,
    kill: (group) => void process.kill(-group, 'SIGKILL'),
  });
}

async function tryBuiltIn(context: Context, name: string, type: 'local' | 'assembly'): Promise<Promised[]> {
  const { certifyPure } = await import('../providers/certify/pure.ts');
  const { provider } = await context.spending('read');
  return certifyPure({ provider: await provider(name), local: await provider('local'), type });
}

const WORD = { true: 'ok', false: 'BROKEN', null: 'not observable' } as const;

/** A line a promise, in groups, and how many there are of each. */
function textOf(promises: readonly Promised[]): string {
  const groups = [...new Set(promises.map(groupOf))];
  const lines = groups.flatMap((group) => [
    group,
    ...promises
      .filter((one) => groupOf(one) === group)
      .map(
        ({ holds, says, seen }) =>
          `  ${WORD[`${holds}`].padEnd(WORD.null.length)}  ${says}${holds === true ? '' : `  [${seen}]`}`,
      ),
  ]);
  const count = (wanted: boolean | null): number => promises.filter(({ holds }) => holds === wanted).length;
  return `${lines.join('\n')}\n\n${count(true)} hold, ${count(false)} broken, ${count(null)} not observable\n`;
}

const groupOf = ({ id }: Promised): string => id.slice(0, id.indexOf('/'));

const breaks = (name: string, broken: string[]): EpisodeError =>
  new EpisodeError('PROVIDER_PROTOCOL', `${name} breaks ${broken.length} of its promises: ${broken.join(', ')}`, {
    subject: name,
    hints: [
      `mend what is behind ${name}: docs/providers.md says what it must answer, docs/mappings.md what a mapping holds`,
    ],
    details: { broken },
  });
