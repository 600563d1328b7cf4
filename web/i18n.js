// Every text of the interface, in English and Simplified Chinese. {x} are values; in `rich` they may be nodes. A text of a
// user is never part of this table: it comes as a value.

const TEXTS = {
  // The frame
  skip: ['Skip to the view', '跳到视图'],
  views: ['Views', '视图'],
  controls: ['Text, head and options', '文本、注意力头与选项'],
  model: ['{name} · {l} layers × {h} heads', '{name} · {l} 层 × {h} 头'],
  language: ['中文', 'English'],
  theme: ['Light or dark', '浅色或深色'],
  help: ['Keys and reading guide', '按键与读图方法'],
  save: ['Save', '保存'],
  saveFailed: ['It could not be saved: {e}', '无法保存：{e}'],
  saved: ['Saved as {name}', '已保存为 {name}'],

  // The rail: text, head, options
  text: ['Text', '文本'],
  textLabel: ['The text to look at', '要观看的文本'],
  textPlaceholder: ['Type or paste a text', '输入或粘贴一段文本'],
  look: ['Look', '观看'],
  openFile: ['Open a file', '打开文件'],
  textHint: ['Enter looks, Shift+Enter is a new line', 'Enter 观看，Shift+Enter 换行'],
  fileLong: ['The file has {n} bytes; at most {most} are taken', '文件有 {n} 字节，最多接受 {most} 字节'],
  texts: ['Texts', '文本'],
  previousText: ['Previous text', '上一条文本'],
  nextText: ['Next text', '下一条文本'],
  textOf: ['{i} of {n}', '{n} 条中的第 {i} 条'],
  cut: ['The last {n} tokens are cut off', '末尾 {n} 个词元已截去'],
  knockedOut: ['Knocked out: {spec}', '已切断：{spec}'],
  counts: ['{words} words, {tokens} tokens', '{words} 个词，{tokens} 个词元'],
  head: ['Layer and head', '层与头'],
  layer: ['Layer', '层'],
  headName: ['Head', '头'],
  mean: ['mean', '平均'],
  meanOf: ['mean of {n} heads', '{n} 个头的平均'],
  previousOf: ['{name}: previous', '{name}：上一个'],
  nextOf: ['{name}: next', '{name}：下一个'],
  layerHead: ['layer {l}, head {h}', '第 {l} 层第 {h} 头'],
  layerMean: ['layer {l}, mean of its heads', '第 {l} 层各头平均'],
  pickNote: ['{a} → {b} in every head', '每个头里的 {a} → {b}'],
  pickCell: ['{map}: {a} → {b} {n}', '{map}：{a} → {b} {n}'],
  more: ['More options', '更多选项'],
  less: ['Fewer options', '收起选项'],
  options: ['Options', '选项'],
  direction: ['Direction', '方向'],
  looksOut: ['Where it looks', '它看哪里'],
  looksIn: ['Who looks at it', '谁看它'],
  joinPieces: ['Join word pieces', '合并词片'],
  setSpecial: ['Set {list} aside', '搁置 {list}'],
  setSink: ['Set the first token aside', '搁置第一个词元'],
  entropyHead: ['Entropy of the head', '整个头的熵'],
  entropyOf: ['Entropy of {w}', '{w} 的熵'],
  sinkOf: ['{w} to the head’s sink', '{w} 给该头的汇点'],
  nats: ['{n} nats', '{n} 奈特'],
  likeWords: ['≈ {k} words, evenly', '≈ 均匀看 {k} 个词'],
  onSpecial: ['On special tokens', '在特殊词元上'],
  onFirst: ['On the first token', '在第一个词元上'],
  onSink: ['On the head’s sink', '在该头的汇点上'],
  onPrevious: ['On the previous token', '在前一词元上'],
  onSame: ['On the same token', '在自身上'],
  onNext: ['On the next token', '在后一词元上'],
  distance: ['Mean distance', '平均距离'],
  distanceTokens: ['{n} tokens', '{n} 个词元'],
  legend: ['weight', '权重'],
  legendLong: ['weight × n, logarithmic', '权重 × n，对数'],

  // The caveat, and the sheet of keys
  caveat: ['Attention weights show where information flowed, not why.', '注意力权重显示信息流向了哪里，而不是为什么。'],
  caveatMore: ['What this means', '这是什么意思'],
  caveat1: [
    'A large weight says that much of what a word carries went into the mix. It does not say that the result depends on it: other heads, the values and the residual path decide too.',
    '权重大，说明这个词携带的内容有很大一份进入了混合；不说明结果取决于它：别的头、值向量和残差通路同样起作用。'],
  caveat2: [
    'To learn what a result depends on, change the text and look at what changes. Weights tell where to begin.',
    '要知道结果取决于什么，请改动文本，看看有什么变化。权重只告诉你从哪里入手。'],
  reading: ['How to read it', '怎样读图'],
  read1: [
    'A beam starts as a point at the word that looks, and opens to the word it looks at. Its width there is the weight.',
    '光束从正在看的词出发，是一个点；到被看的词张开，那里的宽度就是权重。'],
  read2: [
    'Darker (in dark mode: lighter) means more weight. Lightness follows weight to the power 0.6, so that small weights stay visible.',
    '越深（深色模式下越亮）权重越大。亮度按权重的 0.6 次方变化，小的权重也看得见。'],
  read3: [
    'The weight to a word of several pieces is their sum, the weight from it their mean. Nothing is renormalised.',
    '给一个由几个词片组成的词的权重，是各片之和；它给出的权重，是各片的平均。一切都不重新归一。'],
  keys: ['Keys', '按键'],
  keysOfView: ['Keys of this view', '此视图的按键'],
  close: ['Close', '关闭'],
  singleKeys: ['Single-key shortcuts', '启用单键快捷键'],
  keyViews: ['views', '视图'],
  keyWord: ['previous or next word', '上一个或下一个词'],
  keyHead: ['previous or next head', '上一个或下一个头'],
  keyLayer: ['previous or next layer', '上一层或下一层'],
  keyMean: ['mean of the heads', '各头平均'],
  keyDirection: ['turn the direction', '换方向'],
  keyPieces: ['join or split word pieces', '合并或拆开词片'],
  keySpecial: ['set special tokens aside', '搁置特殊词元'],
  keySink: ['set the first token aside', '搁置第一个词元'],
  keyLetGo: ['let go of the target', '放开目标'],
  keyEdit: ['edit the text', '编辑文本'],
  keyText: ['previous or next text', '上一条或下一条文本'],
  keyTheme: ['light or dark', '浅色或深色'],
  keyLanguage: ['English or 中文', '中文或 English'],
  keyHelp: ['this sheet', '本页'],

  // States
  loadingTitle: ['One moment', '稍候'],
  loading: ['The model is looking at the text.', '模型正在看这段文本。'],
  loadingModel: ['Reading the model.', '正在读取模型。'],
  emptyTitle: ['Nothing to look at yet', '还没有可看的'],
  empty: ['Write a text, and see where every word of it looks.', '写一段文本，看看其中每个词看向哪里。'],
  emptyExample: ['Take the example', '用示例'],
  longTitle: ['The text is too long', '文本太长'],
  longCut: ['Look at its beginning', '只看开头'],
  editText: ['Edit the text', '编辑文本'],
  failedTitle: ['The numbers are missing', '缺少数据'],
  again: ['Try again', '重试'],
  offline: [
    'The server does not answer. Start it again with `sightline serve`, then try again.',
    '服务没有应答。请用 `sightline serve` 重新启动，然后重试。'],
  gone: ['The server no longer keeps this text. Give it the text again.', '服务已不再保留这段文本，请重新输入。'],
  busy: ['The server is busy with other texts. Try again in {n} s.', '服务正忙于其他文本，请 {n} 秒后重试。'],
  unexpected: ['What came from the server could not be read: {e}', '无法读取服务返回的内容：{e}'],

  // Text
  'view.text': ['Text', '文本'],
  askOut: ['Where does {w} look?', '{w} 在看哪里？'],
  askIn: ['Who looks at {w}?', '谁在看 {w}？'],
  sayOut: ['In {map}, {w} gives {list}.', '在{map}，{w} 把{list}。'],
  sayOutFirst: ['{n} of its weight to {t}', '权重的 {n} 给了{t}'],
  sayOutNext: ['{n} to {t}', '{n} 给了{t}'],
  sayIn: ['In {map}, {w} receives {list}.', '在{map}，{w} 得到{list}。'],
  sayInFirst: ['{n} of the weight of {t}', ' {t} 权重的 {n}'],
  sayInNext: ['{n} of {t}', ' {t} 的 {n}'],
  sayNobody: ['In {map}, everything that {w} gives is set aside.', '在{map}，{w} 给出的都已搁置。'],
  itself: ['itself', '自己'],
  comma: [', ', '，'],
  and: [' and ', '，'],
  andNames: [' and ', '与'],
  sayAside: [' {n} on {list} is set aside.', '{list} 上的 {n} 已搁置。'],
  theFirst: ['the first token', '第一个词元'],
  words: ['Words of the text', '文本中的词'],
  pairWeight: ['{a} → {b} {n}', '{a} → {b} {n}'],
  pairInMap: ['{map}: {a} → {b} {n}', '{map}：{a} → {b} {n}'],
  strip: ['{w} in the {n} heads of layer {l}', '{w} 在第 {l} 层的 {n} 个头里'],
  narrowEnd: ['The narrow end looks, the wide end is looked at.', '尖的一端在看，宽的一端被看。'],
  greySpecial: [' Grey: {list}.', '灰色：{list}。'],

  // Text, long
  sayLong: ['Word {i} of {n}: in {map}, {w} gives {list}.', '{n} 个词里的第 {i} 个：在{map}，{w} 把{list}。'],
  sayLongIn: ['Word {i} of {n}: in {map}, {w} receives {list}.', '{n} 个词里的第 {i} 个：在{map}，{w} 得到{list}。'],
  stripLong: ['The whole text, from its first word to its last', '全文，从第一个词到最后一个词'],
  stripWord: ['Word {i} of {n}: {w}', '{n} 个词里的第 {i} 个：{w}'],
  passages: ['Passages it looks at', '它看的段落'],
  passagesIn: ['Passages that look at it', '看它的段落'],
  passagesSums: ['sums over {k} words', '每 {k} 个词之和'],
  passageRange: ['words {a}–{b}', '第 {a}–{b} 词'],
  around: ['Around {w}', '{w} 的周围'],
  keyPage: ['100 words back or on', '前进或后退 100 个词'],
  keyEnds: ['first or last word', '第一个或最后一个词'],

  // Heads
  'view.heads': ['Heads', '各头'],
  askHeads: ['Which heads have a habit?', '哪些头有自己的习惯？'],
  sayHeads: [
    'Of {n} heads {map} is the sharpest: {h} nats of entropy, {s} of its weight on special tokens. In each tile, row looks at column.',
    '{n} 个头里最集中的是 {map}：熵 {h} 奈特，{s} 的权重落在特殊词元上。每格里行看列。'],
  sayHeadsFirst: [
    'Of {n} heads {map} is the sharpest: {h} nats of entropy, {s} of its weight on the first token. In each tile, row looks at column.',
    '{n} 个头里最集中的是 {map}：熵 {h} 奈特，{s} 的权重落在第一个词元上。每格里行看列。'],
  headsLegend: ['A second click or Enter opens a head in Text.', '再次点击或按 Enter，在“文本”中打开该头。'],
  'number.entropy': ['entropy', '熵'],
  'number.special': ['on special', '特殊词元'],
  'number.first': ['on first', '第一个词元'],
  'number.sink': ['on sink', '汇点'],
  'number.previous': ['previous', '前一个'],
  'number.same': ['same', '自身'],
  'number.next': ['next', '后一个'],
  'number.distance': ['distance', '距离'],
  headsShow: ['Number shown', '显示的数'],
  tile: ['{map}: {what} {n}', '{map}：{what} {n}'],
  keyTiles: ['another head', '另一个头'],
  keyOpen: ['open the head in Text', '在“文本”中打开这个头'],

  // Map
  'view.map': ['Map', '全图'],
  mapAsk: ['Where does all the weight lie?', '全部权重落在哪里？'],
  mapSay: ['Row looks at column: {n} × {n} {what} in {map}.', '行看列：{map}，{n} × {n} 个{what}。'],
  mapAllExact: [' Every weight is exact.', '每个权重都精确。'],
  mapWords: ['words', '词'],
  mapPieces: ['tokens', '词元'],
  mapSayLong: [
    'Row looks at column: {n} tokens, {m} weights in {map}. From afar a pixel is a mean, close up it is one weight.',
    '行看列：{map}，{n} 个词元，{m} 个权重。远看时一个像素是均值，近看时是一个权重。'],
  mapLabel: ['Map of {map}, {n} rows and columns. Arrow keys move, plus and minus zoom.', '{map}的图，{n} 行 {n} 列。方向键移动，加减键缩放。'],
  mapRows: ['looks', '看'],
  mapCols: ['looked at', '被看'],
  mapOverview: ['Overview', '总览'],
  mapIn: ['Zoom in', '放大'],
  mapOut: ['Zoom out', '缩小'],
  mapFit: ['Show the whole map', '显示全图'],
  mapFitShort: ['Fit', '全览'],
  mapUnder: ['Under the pointer', '指针所在'],
  mapTimes: ['weight × n = {n}', '权重 × n = {n}'],
  mapRow: ['The row, along the text', '这一行，沿全文'],
  mapHidden: ['not seen', '看不到'],
  mapReceived: ['Weight received by each', '各自得到的权重'],
  mapExact: ['One cell = one weight.', '一格 = 一个权重。'],
  mapPooled: ['One cell = mean of {k} × {k} weights.', '一格 = {k} × {k} 个权重的均值。'],
  mapWaits: ['Finer tiles are on their way.', '更细的图块正在读取。'],
  mapFailed: ['A tile could not be had: {e}', '有图块无法取得：{e}'],
  mapKeyZoom: ['zoom in or out', '放大或缩小'],
  mapKeyFit: ['the whole map', '显示全图'],
  mapKeyCell: ['another cell; Shift: ten', '另一格；Shift：十格'],
  mapKeyChoose: ['choose row and column', '选定行与列'],

  // Steps
  'view.steps': ['Steps', '四步'],
  stepsAsk: ['How does {w} come to give {n} to {t}?', '{w} 给 {t} 的 {n} 是怎样算出来的？'],
  stepsSay: [
    'One row for each token that {w} can read, from left to right: score, scale, softmax, mix.',
    '{w} 能读到的每个词元占一行，从左到右：打分、缩放、softmax、混合。'],
  stepsTable: ['The four steps of attention, a row a token', '注意力的四步，每个词元一行'],
  stepsTabs: ['Step shown', '显示哪一步'],
  steps1: ['Score', '打分'],
  steps2: ['Scale', '缩放'],
  steps3: ['Softmax', 'Softmax'],
  steps4: ['Mix', '混合'],
  steps1Formula: ['q · k', 'q · k'],
  steps3Formula: ['eˣ ⁄ ∑ eˣ', 'eˣ ⁄ ∑ eˣ'],
  steps4Formula: ['∑ w·v', '∑ w·v'],
  steps1What: ['How well does what {w} asks match what each offers?', '{w} 要找的，与每个词元能提供的，有多相配？'],
  steps2What: ['Divide, so that the next step is not all or nothing.', '除一下，下一步才不会非此即彼。'],
  steps3What: ['Turn scores into shares that add up to 1.', '把分数变成加起来等于 1 的份额。'],
  steps4What: ['Add up what they carry, by share.', '按份额把各自携带的内容加起来。'],
  stepsQueryOf: ['q of {w}', '{w} 的 q'],
  stepsKeyOf: ['k of {t}', '{t} 的 k'],
  stepsProduct: ['q × k', 'q × k'],
  stepsProducts: ['q × k for {t}: {d} products add up to {n}', '{t} 的 q × k：{d} 个乘积之和为 {n}'],
  stepsValue: ['value v × weight', '值 v × 权重'],
  stepsOutput: ['new vector of {w}', '{w} 的新向量'],
  stepsNoValues: ['Values are not in this file: the text is too long for them.', '此文件不含值向量：文本太长。'],
  stepsDivisor: ['Divisor', '除数'],
  stepsOff: ['off', '关'],
  stepsSpread: ['spread over {k} tokens', '分散在 {k} 个词元上'],
  stepsGradient: ['gradient {g}', '梯度 {g}'],
  stepsSaturated: ['saturated', '已饱和'],
  stepsCausal: ['Causal: hide what follows', '因果：遮住后面的词'],
  stepsSink: ['the head’s sink', '该头的汇点'],
  stepsRest: ['{n} more', '另外 {n} 个'],
  stepsEdit: ['The sentence; Enter looks at it', '句子；按 Enter 观看'],
  stepsEmpty: ['No steps to show here', '这里没有可显示的步骤'],
  stepsMean: [
    'A mean of heads has no query and no key of its own. Choose a head of layer {l} to see its steps.',
    '各头的平均没有自己的查询与键。请在第 {l} 层选择一个头，查看它的步骤。'],
  stepsOpenHead: ['Open head {h}', '打开第 {h} 个头'],
  stepsLong: [
    'The text has {n} tokens; steps are shown for up to {most}. Map and Text show all of it.',
    '文本有 {n} 个词元；四步最多显示 {most} 个。“全图”与“文本”可看全部。'],
  stepsNone: ['The numbers of layer {l} are not here.', '这里没有第 {l} 层的数据。'],
  stepsKeyRow: ['another row', '另一行'],
  stepsKeyOff: ['divide or not', '除或不除'],
  stepsKeyCausal: ['hide what follows', '遮住后面的词'],

  // Saving, and the page as one file
  savePng: ['Picture (PNG)', '图片（PNG）'],
  saveSvg: ['Picture (SVG)', '图片（SVG）'],
  saveHtml: ['The page as one file (HTML)', '整页存为一个文件（HTML）'],
  precision: [' This file keeps weights within {n}.', '此文件中的权重误差不超过 {n}。'],
};

let column = 0;

/** 'en' or 'zh'. */
export function setLanguage(language) {
  column = language === 'zh' ? 1 : 0;
}

export const languageTag = () => (column ? 'zh-Hans' : 'en');

const textOf = key => {
  if (!(key in TEXTS)) throw new Error(`i18n: no text ${key}`);
  return TEXTS[key][column];
};

/** The text of `key`, its {values} put in. */
export function t(key, values = {}) {
  return textOf(key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** The same as a fragment: values may be nodes, and strings become text nodes. */
export function rich(key, values = {}) {
  const fragment = document.createDocumentFragment();
  for (const part of textOf(key).split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    const value = name ? values[name] : part;
    if (value != null && value !== '') fragment.append(value);
  }
  return fragment;
}

/** Nodes joined as a language lists them: "a, b and c"; `and` is the key of the last link. */
export function listOf(nodes, and = 'and') {
  const fragment = document.createDocumentFragment();
  nodes.forEach((node, i) => {
    if (i) fragment.append(t(i === nodes.length - 1 ? and : 'comma'));
    fragment.append(node);
  });
  return fragment;
}

const grouped = new Intl.NumberFormat('en-US');

/** A count: 4,096. */
export const countText = n => grouped.format(n);

/** A weight: three digits behind the point, or two significant ones where these would be zeros. */
export function weightText(weight) {
  if (!Number.isFinite(weight)) return '–';
  if (weight === 0 || weight >= 0.0005) return weight.toFixed(3);
  return weight >= 1e-6 ? weight.toFixed(-Math.floor(Math.log10(weight)) + 1) : weight.toExponential(1);
}

/** A distance in tokens. */
export const distanceText = n => (n < 1000 ? n.toFixed(1) : countText(Math.round(n)));

/** A weight under a word, as wide for all. */
export const columnText = weight => (Number.isFinite(weight) ? weight.toFixed(3) : '–');

export const percentText = share => `${Math.round(share * 100)} %`;
