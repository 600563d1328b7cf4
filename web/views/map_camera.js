// What part of a map is seen: `scale` pixels an item, and the item, counted in fractions, at the left and upper edge.

const CLOSEST = 44;  // px an item: a cell with its number, room for a label on both axes

export class Camera {
  scale = 1;
  x = 0;
  y = 0;
  #count = 1;
  #side = 1;

  /** `count` items, shown on a square of `side` pixels. Keeps what is seen in the middle. */
  resize(count, side) {
    const whole = this.isWhole;
    const middle = this.middle;
    this.#count = count;
    this.#side = side;
    if (whole) this.fit();
    else this.look(this.scale, middle);
  }

  get #least() {
    return this.#side / this.#count;
  }

  get #most() {
    return Math.max(CLOSEST, this.#least * 3);
  }

  /** Items across. */
  get span() {
    return this.#side / this.scale;
  }

  get side() {
    return this.#side;
  }

  get isWhole() {
    return this.scale <= this.#least * 1.001;
  }

  /** [x, y] in items. */
  get middle() {
    return [this.x + this.span / 2, this.y + this.span / 2];
  }

  fit() {
    this.look(this.#least, [this.#count / 2, this.#count / 2]);
  }

  look(scale, [x, y]) {
    this.scale = Math.min(Math.max(scale, this.#least), this.#most);
    this.moveTo(x - this.span / 2, y - this.span / 2);
  }

  moveTo(x, y) {
    const most = this.#count - this.span;
    this.x = Math.max(0, Math.min(most, x));
    this.y = Math.max(0, Math.min(most, y));
  }

  /** By pixels, as a drag goes. */
  moveBy(dx, dy) {
    this.moveTo(this.x - dx / this.scale, this.y - dy / this.scale);
  }

  /** Zooms by `factor`; what is at (px, py) pixels stays there. */
  zoom(factor, px = this.#side / 2, py = this.#side / 2) {
    const x = this.x + px / this.scale;
    const y = this.y + py / this.scale;
    this.scale = Math.min(Math.max(this.scale * factor, this.#least), this.#most);
    this.moveTo(x - px / this.scale, y - py / this.scale);
  }

  /** Moves as little as brings item (row, col) into view. */
  reveal(row, col) {
    const near = (at, item) => Math.min(Math.max(at, item + 1 - this.span), item);
    this.moveTo(near(this.x, col), near(this.y, row));
  }

  /** The item at a pixel, or null outside the map. */
  itemAt(px, py) {
    if (px < 0 || py < 0 || px >= this.#side || py >= this.#side) return null;
    const col = Math.floor(this.x + px / this.scale);
    const row = Math.floor(this.y + py / this.scale);
    return row < this.#count && col < this.#count ? [row, col] : null;
  }

  /** As the URL keeps it: log2 of the scale and the middle; nulls for the whole map. */
  toState() {
    if (this.isWhole) return { z: null, zx: null, zy: null };
    const [zx, zy] = this.middle;
    return { z: Math.log2(this.scale), zx, zy };
  }

  fromState({ z, zx, zy }) {
    if (z == null) this.fit();
    else this.look(2 ** z, [zx ?? this.#count / 2, zy ?? this.#count / 2]);
  }
}
