"""What an accessibility check can find by itself, as a script that returns what is wrong."""

SCRIPT = r"""
const wrong = [];
const isShown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';

/* Every control and landmark has a name. */
function nameOf(e) {
	const labelled = e.getAttribute('aria-labelledby');

	if (e.getAttribute('aria-label'))
		return e.getAttribute('aria-label');
	if (labelled)
		return labelled.split(' ').map((id) => document.getElementById(id)).map((one) => (one ? one.textContent : '')).join(' ');
	if (e.labels && e.labels.length)
		return e.labels[0].textContent;
	return e.textContent;
}
for (const e of document.querySelectorAll('button, select, input, a, [tabindex], section, aside, canvas[role], [role]'))
	if (isShown(e) && !(nameOf(e) || '').trim())
		wrong.push(`no name: ${e.outerHTML.slice(0, 120)}`);

/* Roles that exist, references that lead somewhere, numbers that are there once. */
const roles = ['application', 'status', 'tablist', 'tab', 'tabpanel'];
for (const e of document.querySelectorAll('[role]'))
	if (!roles.includes(e.getAttribute('role')))
		wrong.push(`role ${e.getAttribute('role')}`);
for (const key of ['aria-labelledby', 'aria-describedby', 'aria-controls'])
	for (const e of document.querySelectorAll(`[${key}]`))
		for (const id of e.getAttribute(key).split(' '))
			if (!document.getElementById(id))
				wrong.push(`${key} leads nowhere: ${id}`);
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of ids)
	if (ids.indexOf(id) !== ids.lastIndexOf(id))
		wrong.push(`twice: ${id}`);

/* Structure. */
if (!document.documentElement.lang || !document.title)
	wrong.push('no language or title');
if (document.querySelectorAll('h1').length !== 1 || document.querySelectorAll('main').length !== 1)
	wrong.push('not one h1 and one main');
let level = 0;
for (const e of document.querySelectorAll('h1, h2, h3, h4')) {
	const next = Number(e.tagName[1]);

	if (next > level + 1)
		wrong.push(`heading ${e.textContent} skips a level`);
	level = next;
}
if ([...document.querySelectorAll('[tabindex]')].some((e) => e.tabIndex > 0))
	wrong.push('a tabindex above 0');
for (const e of document.querySelectorAll('[role=tab]'))
	if (!e.hasAttribute('aria-selected'))
		wrong.push('a tab that does not say whether it is chosen');

/* Contrast of all text, as WCAG 2.1 computes it: 4.5, of large text 3. */
function parse(color) {
	const found = color.match(/[\d.]+/g).map(Number);

	return found.length === 3 ? [...found, 1] : found;
}
function over(top, bottom) {
	return [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
}
function groundOf(e) {
	const layers = [];

	for (let one = e; one; one = one.parentElement)
		layers.push(parse(getComputedStyle(one).backgroundColor));
	return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
function luminance(color) {
	const [r, g, b] = color.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));

	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
	const e = walker.currentNode.parentElement;

	if (!walker.currentNode.data.trim() || !isShown(e) || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(e.tagName) || e.disabled)
		continue;
	const style = getComputedStyle(e);
	const ground = groundOf(e);
	const ink = over(parse(style.color), ground);
	const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
	const ratio = (high + 0.05) / (low + 0.05);
	const size = parseFloat(style.fontSize);
	const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);

	if (ratio < (isLarge ? 3 : 4.5))
		wrong.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.data.slice(0, 40)}`);
}
return wrong;
"""
