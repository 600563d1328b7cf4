// The views of the page, in order: a new one is one file and one entry here. `key` opens it.
import { view as text } from './views/text.js';
import { view as heads } from './views/heads.js';
import { view as map } from './views/map.js';
import { view as steps } from './views/steps.js';

export const VIEWS = [text, heads, map, steps].map((module, index) => ({ id: module.id, key: String(index + 1), module }));
