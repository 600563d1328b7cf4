import { t } from './i18n.js';

/** What a page that keeps less than fp32 says of its weights; empty for one that is exact. */
export function precisionNote(source) {
  const { exact = true, within = 0 } = source.precision ?? {};
  return exact || within === 0 ? '' : t('precision', { n: (Math.ceil(within * 1e4) / 1e4).toFixed(4) });
}
