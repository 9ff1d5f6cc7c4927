/**
 * Chance that can be replayed: the same seed gives the same world on every machine.
 * The generator is sfc32 (Doty-Humphrey, PractRand): 128 bits of state, and no two small seeds share a stream.
 */
export class Random {
  #a: number;
  #b: number;
  #c = 0;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) | 0;
    // Seeds differ in a few bits only; twelve rounds spread them over the whole state.
    for (let round = 0; round < 12; round++) this.#next();
  }

  #next(): number {
    const result = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    return result >>> 0;
  }

  /** A whole number from 0 to `below - 1`. */
  int(below: number): number {
    return Math.floor((this.#next() / 0x1_0000_0000) * below);
  }

  chance(probability: number): boolean {
    return this.#next() / 0x1_0000_0000 < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('nothing to pick from');
    return items[this.int(items.length)]!;
  }

  /** `bytes` random bytes in lower-case hex. */
  hex(bytes: number): string {
    let text = '';
    while (text.length < bytes * 2) text += this.#next().toString(16).padStart(8, '0');
    return text.slice(0, bytes * 2);
  }
}
