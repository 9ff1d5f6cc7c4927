import { resolveCredentials } from '../credentials.ts';
import { EpisodeError } from '../errors.ts';
import { createFfmpeg } from '../media/ffmpeg.ts';
import { hashFile } from '../media/hash.ts';
import { verifyMedia } from '../media/verify.ts';
import { type ProviderConfig, providerType } from '../model/config.ts';
import { identify } from '../process-identity.ts';
import { createAssemblyProvider } from '../providers/assembly/assembly.ts';
import { createExecProvider } from '../providers/exec/exec-provider.ts';
import { createLocalProvider } from '../providers/local/local.ts';
import type { Provider } from '../providers/provider.ts';
import type { SpendServices } from '../spend/spend-services.ts';
import type { Store } from '../store/store.ts';
import type { Context } from './context.ts';

/** What the paid verbs work with: the show's providers and this machine's ffmpeg, each started when it is needed. */
export async function createSpendServices(context: Context, store: Store): Promise<SpendServices> {
  const { talk, env } = context;
  const config = await context.config();
  const ffmpeg = createFfmpeg(env);
  const made = new Map<string, Provider>();
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

  function create(name: string): Provider {
    switch (providerType(config, name)) {
      case 'assembly':
        return createAssemblyProvider({ name, ffmpeg });
      case 'local':
        return createLocalProvider({ name, ffmpeg, path: env.PATH, onNote: (note) => talk.note(`${name}: ${note}`) });
      case 'exec': {
        const { command, env: names } = config.providers[name] as Extract<ProviderConfig, { type: 'exec' }>;
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
        throw new EpisodeError(
          'PROVIDER_CONFIGURATION',
          `provider ${name} is of type http, which this version cannot send to`,
          {
            subject: 'pipeline.json',
            hints: ['wrap it as an executable that speaks episode-provider/1: "type": "exec"'],
          },
        );
      case null:
        throw new EpisodeError('PROVIDER_CONFIGURATION', `pipeline.json has no provider ${name}`, { subject: name });
    }
  }
}
