import type { Weather } from './faults.ts';

/** Everything at once. */
export const STORM: Weather = {
  span: 400,
  kill: 4,
  powerLoss: 2,
  pause: 3,
  steal: 3,
  busy: 1,
  error: 3,
  shortWrite: 1,
  clockJump: 1,
};

/** Stopped and robbed owners, and no crash that would end their doings: what read-modify-write bugs need. */
export const THIEVES: Weather = { span: 600, kill: 8, pause: 16, steal: 8 };
