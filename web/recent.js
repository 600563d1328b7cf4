/** Keeps what was used last, as long as it all weighs no more than `limit`. */
export class Recent {
  #entries = new Map();
  #limit;
  #total = 0;

  constructor(limit) {
    this.#limit = limit;
  }

  get(key) {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key, value, weight) {
    if (this.#entries.has(key)) return;
    this.#entries.set(key, { value, weight });
    this.#total += weight;
    for (const [oldest, entry] of this.#entries) {
      if (this.#total <= this.#limit || oldest === key) break;
      this.#entries.delete(oldest);
      this.#total -= entry.weight;
    }
  }
}
