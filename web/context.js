/**
 * What a view is given, and what it gives: types only, no code.
 *
 * A view is one file in views/ that exports `view`, and one entry in views.js. The modules use named imports and exports
 * alone (`import { a, b as c } from './x.js'`, `export function`, `export class`, `export const`), no default, no
 * dynamic import, and no import cycle, so that a small linker can put them into one file.
 *
 * @typedef {object} View
 * @property {string} id           its name in the URL (v=…)
 * @property {string} titleKey     key of its name in i18n.js
 * @property {(root: HTMLElement, context: Context) => MountedView} mount
 *   Builds the view in `root`, which is empty and fills the main area below the heading. Called anew for every look.
 *   `update` is called once directly afterwards.
 *
 * @typedef {object} MountedView
 * @property {(state: State, change: Set<string>) => void | Promise<void>} update
 *   The state has changed; `change` holds the keys that did ('size' where the window did, 'th' the theme, 'lang' the
 *   language; all keys at first). Sets heading and finding by context.lead(). A promise that rejects is shown as the
 *   error state, unless the reason is an AbortError. Newer calls may come before an older one's promise is settled: what
 *   was awaited for an older state must not be drawn (compare with a counter of one's own).
 * @property {() => void} destroy  takes back what it put outside `root` and context.rail
 * @property {Key[]} [keys]        its own keys; they go before the frame's, and stand in the key sheet
 * @property {() => SVGElement | null} [svg]
 *   The view as one SVG with its fonts and colours resolved into attributes, for export; null where there is none.
 * @property {boolean} [picker]    false: the rail shows no head picker, and has context.rail in its place
 * @property {string[]} [options]  which switches the rail shows: 'direction', 'pieces', 'special', 'sink'; without it all
 *                                 but 'direction'
 *
 * @typedef {object} Key
 * @property {string} key          as KeyboardEvent.key names it; letters in lower case
 * @property {string} labelKey     key in i18n.js of what it does
 * @property {(event: KeyboardEvent) => boolean | void} run  false: not taken, the frame may have it
 * @property {string} [show]       how the key sheet writes it, where not as `key`; keys of equal labelKey share a line
 * @property {boolean} [always]    true: a key that moves or acts on what has the focus (arrows, Enter), which stays when
 *                                 single-key shortcuts are switched off
 *
 * @typedef {object} State
 *   As state.js names the keys, resolved: l, h and w are numbers that exist in this look (w a token's index), lang is
 *   'en' or 'zh', th 'light' or 'dark'. t, z, zx, zy and dv may be null: not chosen.
 *
 * @typedef {object} Context
 * @property {RemoteSource | FileSource} source
 * @property {Look} look           look.js
 * @property {Weights} weights     weights.js: weights between items of the axis; short texts from memory
 * @property {() => State} state
 * @property {(patch: object, options?: {replace?: boolean}) => void} set
 *   Changes the state, then everything is updated. A choice makes a step of history; stepping along (`replace`) does not.
 * @property {(text: string, chosen?: {w: number}) => void} setText   Looks at another text, where source.canEdit.
 * @property {() => Axis} axis     the axis as the state shows it (p, a, f); the same object while these stay
 * @property {() => number} item   the chosen word, as an item of the axis
 * @property {() => {layer: number, head: number}[]} chosenMaps
 *   What l and h name: one map, or all heads of the layer where h is 0 (to be taken as their mean)
 * @property {() => boolean} mean  whether h is 0
 * @property {() => Promise<Float32Array>} row   weights of item() in chosenMaps(), in the direction of the state
 * @property {(row: Float32Array) => number} target
 *   The item that the chosen word is seen with: t, or the one with most weight in `row`
 * @property {() => boolean} long   more than 60 items: shown as one strip rather than word by word
 * @property {(weight: number) => number} shade   place 0..1 on the colour scale: gazeAt(context.shade(weight), special)
 * @property {() => string} mapName        "layer 4, head 2" in the page's language
 * @property {(question: Node | string, finding: Node | string) => void} lead
 *   Heading and sentence of the view. The finding is announced to screen readers when it has rested a moment.
 * @property {(text: string) => void} announce   says something to screen readers
 * @property {HTMLElement} rail    where the view may put controls and readouts of its own; emptied between views
 * @property {() => 'light' | 'dark'} theme
 * @property {() => boolean} narrow   the phone's layout (up to 720 px)
 * @property {AbortSignal} signal  aborted when this look is left
 *
 * Texts: `t(key, values)` and `rich(key, values)` of i18n.js. Numbers: `weightText` of i18n.js.
 *
 * export.js exports `formats` ([{id, labelKey, available(context, mounted)}]) and `save(id, context, mounted)`; the
 * frame makes the menu of it.
 */

export {};
