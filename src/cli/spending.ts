import { resolve } from 'node:path';
import { refuseUnsendable, resolveCredentials } from '../credentials.ts';
import { providerNotConfigured } from '../errors.ts';
import { parseStrict } from '../json/strict-json.ts';
import { createFfmpeg } from '../media/ffmpeg.ts';
import { hashFile } from '../media/hash.ts';
import { verifyMedia } from '../media/verify.ts';
import { type ProviderConfig, providerNames, providerType } from '../model/config.ts';
import { identify } from '../process-identity.ts';
import { createAssemblyProvider } from '../providers/assembly/assembly.ts';
import { createExecProvider } from '../providers/exec/exec-provider.ts';
import type { Mapping } from '../providers/http/mapping.ts';
import { createLocalProvider } from '../providers/local/local.ts';
import type { Provider } from '../providers/provider.ts';
import type { SpendServices } from '../spend/spend-services.ts';
import type { Store } from '../store/store.ts';
import type { Context } from './context.ts';

/** The mapping that a provider is configured with. Throws `PROVIDER_CONFIGURATION` (78) with every fault. */
export async function readMapping(
  context: Context,
  name: string,
  configured: ProviderOfType<'http'>,
): Promise<Mapping> {
  const { loadMapping } = await import('../providers/http/load.ts');
  return loadMapping(name, configured, async (path) =>
    parseStrict(await context.port.disk.readFile(resolve(context.root(), path))),
  );
}

type ProviderOfType<T extends ProviderConfig['type']> = Extract<ProviderConfig, { type: T }>;

/** What the paid verbs work with: the show's providers and this machine's ffmpeg, each started when it is needed. */
export async function createSpendServices(context: Context, store: Store): Promise<SpendServices> {
  const { talk, env } = context;
  const config = await context.config();
  const ffmpeg = createFfmpeg(env);
  const made = new Map<string, Provider | Promise<Provider>>();
  return {
    store,
    port: context.port,
    root: context.root(),
    config,
    async provider(name) {
      const provider = made.get(name) ?? create(name);
      made.set(name, provider);
      return provider;
    },
    media: {
      async verify(path, kind) {
        if (kind !== 'text' && kind !== 'file') await verifyMedia(ffmpeg, path, kind);
      },
      hash: hashFile,
    },
    note: (line) => talk.note(line),
    progress: (step, fraction) => talk.progress(step, fraction),
    interrupted: context.interrupted,
  };

  function create(name: string): Provider | Promise<Provider> {
    switch (providerType(config, name)) {
      case 'assembly':
        return createAssemblyProvider({ name, ffmpeg });
      case 'local':
        return createLocalProvider({ name, ffmpeg, path: env.PATH, onNote: (note) => talk.note(`${name}: ${note}`) });
      case 'exec': {
        const { command, env: names } = config.providers[name] as ProviderOfType<'exec'>;
        const secrets = resolveCredentials(name, names, context.credentialSources());
        const onNote = (line: string) => talk.note(`${name}: ${line}`);
        return createExecProvider({
          name,
          command,
          cwd: context.root(),
          env: secrets,
          identify,
          onNote,
          interrupted: context.interrupted,
        });
      }
      case 'http':
        return createConfiguredHttpProvider(name, config.providers[name] as ProviderOfType<'http'>);
      case null:
        throw providerNotConfigured(name, providerNames(config));
    }
  }

  /** One that cannot be used is asked for again, and says again why. */
  async function createConfiguredHttpProvider(name: string, configured: ProviderOfType<'http'>): Promise<Provider> {
    try {
      const { createHttpProvider } = await import('../providers/http/http-provider.ts');
      const mapping = await readMapping(context, name, configured);
      const secrets = resolveCredentials(name, configured.env, context.credentialSources());
      refuseUnsendable(name, secrets);
      const credentials = Object.fromEntries(
        mapping.credentials.map((credential, index) => [credential, secrets[configured.env[index]!]!]),
      );
      return createHttpProvider({
        name,
        mapping,
        servers: configured.servers,
        credentials,
        allowPrivate: configured.allow_private,
        now: context.port.now,
        interrupted: context.interrupted,
      });
    } catch (error) {
      made.delete(name);
      throw error;
    }
  }
}
