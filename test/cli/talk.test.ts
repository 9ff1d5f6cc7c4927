import { expect, it } from 'vitest';
import { createTalk } from '../../src/cli/talk.ts';

/** A terminal that keeps what it was given, and a clock that a test moves. */
function terminal({ isTTY = true, columns = 80, quiet = false } = {}) {
  const written: string[] = [];
  const clock = { now: 1_000 };
  const talk = createTalk({ isTTY, columns, write: (text) => written.push(text) }, quiet, () => clock.now);
  return { talk, clock, written, text: () => written.join('') };
}
const ERASE = '\r\u001b[2K';

it('progress is drawn on a terminal, in percent and with the time that is left', () => {
  const { talk, clock, text } = terminal();
  talk.progress('film', 0.01);
  expect(text()).toBe('film 1 %');
  clock.now += 10_000;
  talk.progress('film', 0.25);
  expect(text()).toBe(`film 1 %${ERASE}film 25 %, 30 s left`);
  clock.now += 100_000;
  talk.progress('film', 0.26);
  expect(text().endsWith('film 26 %, 6 min left')).toBe(true);
});

it('in a pipe there is no progress at all', () => {
  const { talk, text } = terminal({ isTTY: false });
  talk.progress('film', 0.5);
  talk.note('a line');
  talk.clear();
  expect(text()).toBe('a line\n');
});

it('quiet says nothing', () => {
  const { talk, text } = terminal({ quiet: true });
  talk.progress('film', 0.5);
  talk.note('a line');
  talk.clear();
  expect(text()).toBe('');
});

it('progress never goes back, and never beyond 100 %', () => {
  const { talk, clock, written } = terminal();
  talk.progress('film', 0.6);
  clock.now += 200;
  talk.progress('film', 0.1);
  expect(written.at(-1)).toBe('film 60 %');
  clock.now += 200;
  talk.progress('film', 7);
  expect(written.at(-1)).toBe('');
});

it('several things share the line, which never gets longer than the terminal', () => {
  const { talk, clock, written } = terminal({ columns: 30 });
  for (const name of ['first', 'second', 'third', 'fourth']) {
    clock.now += 200;
    talk.progress(name, 0.02);
  }
  expect(written.at(-1)).toBe('first 2 %   second 2 %   thir');
  expect(written.at(-1)!.length).toBe(29);
});

it('a terminal that does not know its width gets the usual one', () => {
  const { talk, text } = terminal({ columns: 0 });
  talk.progress('film', 0.02);
  expect(text()).toBe('film 2 %');
});

it('it is redrawn ten times a second at most', () => {
  const { talk, clock, written } = terminal();
  for (let step = 1; step <= 100; step += 1) {
    clock.now += 10;
    talk.progress('film', step / 1000);
  }
  expect(written.filter((text) => text.startsWith('film'))).toHaveLength(10);
});

it('a line takes the place of the progress, which is gone at the end', () => {
  const { talk, text } = terminal();
  talk.progress('film', 0.5);
  talk.note('clip 2 is there');
  expect(text()).toBe(`film 50 %${ERASE}clip 2 is there\n`);
  talk.clear();
  expect(text().endsWith('there\n')).toBe(true);
});

it('what a provider says reaches the terminal as text, on one line', () => {
  const { talk, text } = terminal();
  talk.note('fal: \u001b[2Jdone\nepisode: all is well\r\u202e');
  expect(text()).toBe('fal: \\u001b[2Jdone\\nepisode: all is well\\u000d\\u202e\n');
});
