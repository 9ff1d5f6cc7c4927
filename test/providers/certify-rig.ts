import { ADAPTER } from './exec-rig.ts';

/** The scripted adapter as a command with its state in its HOME: certify gives the variables that are named made-up values. */
export const scripted = (scenario: object): string[] => [
  '/bin/sh',
  '-c',
  'ADAPTER_HOME="$HOME" ADAPTER_SCENARIO="$1" exec "$2" "$3"',
  'adapter',
  JSON.stringify(scenario),
  process.execPath,
  ADAPTER,
];
