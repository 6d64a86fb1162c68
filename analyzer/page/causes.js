/* Why memory ran out, on top; and where the memory was. */
import { byId, make, fill, number } from './dom.js';
import { palette } from './palette.js';
import { bytesText, timeText, shareText } from './units.js';

const OCCASIONS = { failure: 'Out of memory', killed: 'It did not end in order', 'near-full': 'Nearly full', growing: 'Growing' };
const FEW = 3; /* remedies that are not folded */

function instantText(at) {
	return timeText(at.time_ns) + (at.phase ? ` in ${at.phase.slice(0, 80)}` : '') + (at.step !== null && at.step !== undefined ? ` of step ${at.step}` : '');
}

/* The words of `report` on the latest verdict, without what the heading says already. */
function wordsOf(device) {
	const lines = device.words.map((line) => line.replace(/ *cause: [A-Z -]+$/, '')).filter((line) => line);
	const asked = `: ${bytesText(device.verdicts[0].requested_bytes || 0)} asked`;

	if (lines.length && lines[0].includes(asked))
		lines[0] = '  ' + lines[0].slice(lines[0].lastIndexOf(asked) + 2);
	return lines.join('\n');
}

function linksOf(device, verdict, view) {
	const mark = device.marks.find((one) => one.name === 'oom' && one.time_ns === verdict.time_ns);
	const links = make('p', { class: 'links' });

	if (mark)
		links.append(make('a', { href: view.link({ at: mark.change, from: null, to: null }) }, 'Show the instant'),
			make('a', { href: view.link({ at: mark.change, flame: 'live' }) + '&go=map-section' }, 'Address space there'),
			make('a', { href: view.link({ at: mark.change, flame: 'live' }) + '&go=flame-section' }, 'Who had it'));
	if (device.retained.growing)
		links.append(make('a', { href: view.link({ flame: 'retained' }) + '&go=flame-section' }, 'What is kept'));
	return links;
}

function headingOf(verdict) {
	const heading = make('h3', null, `${verdict.verdict[0].toUpperCase() + verdict.verdict.slice(1)}: `);

	if (verdict.requested_bytes === null)
		heading.append(`${OCCASIONS[verdict.occasion].toLowerCase()} at ${instantText(verdict.at)}`);
	else
		heading.append(number(verdict.requested_bytes, bytesText(verdict.requested_bytes), 'verdict.requested_bytes'), ` asked at ${instantText(verdict.at)}`);
	return heading;
}

/* The latest verdict in the words of `report`; earlier ones by what they are about and what helps. */
function verdictOf(device, verdict, i, view) {
	const article = make('article', { class: 'cause' }, headingOf(verdict));
	const about = verdict.evidence.about;

	if (!i) {
		article.append(make('pre', null, wordsOf(device)));
	} else {
		if (about)
			article.append(make('p', { class: 'calm' }, about.site));
		article.append(make('ul', null, ...verdict.remedies.slice(0, FEW).map((remedy) => make('li', null, remedy.text))));
	}
	article.append(linksOf(device, verdict, view));
	return article;
}

/* What is in use but not recorded: in its parts, if NVML told. */
function outsideOf(where, colors) {
	if (where.context_bytes === null)
		return [['context and others', where.outside_bytes, colors.groups[6], 'where.outside_bytes']];
	return [
		['context', where.context_bytes, colors.groups[6], 'where.context_bytes'],
		['other processes', where.other_process_bytes, colors.groups[4], 'where.other_process_bytes'],
		['unknown holder', where.unknown_holder_bytes, colors.groups[4], 'where.unknown_holder_bytes'],
		['unexplained', where.unexplained_bytes, colors.groups[7], 'where.unexplained_bytes'],
	];
}

/* Where the whole device is: a bar, and its parts in words. */
function whereOf(device) {
	const where = device.where;
	const colors = palette();
	const parts = [
		['live', where.live_bytes, colors.groups[0], 'where.live_bytes'],
		['rounding', where.rounding_bytes, colors.groups[3], 'where.rounding_bytes'],
		['holes', where.hole_bytes, colors.holeLine, 'where.hole_bytes'],
		['cached', where.cached_bytes, colors.groups[1], 'where.cached_bytes'],
		...outsideOf(where, colors),
		['not taken', where.not_taken_bytes, colors.free, 'where.not_taken_bytes'],
		['free or not seen', where.not_seen_bytes, colors.free, 'where.not_seen_bytes'],
	].filter((part) => part[1]);

	if (!where.total_bytes || where.excess_bytes)
		return [];
	const bar = make('div', { class: 'where', 'aria-hidden': 'true' });
	const list = make('ul', { class: 'where-list' });

	for (const [name, bytes, color, key] of parts) {
		const piece = make('div');
		const chip = make('span', { class: 'chip' });

		piece.style.width = `${bytes / where.total_bytes * 100}%`;
		piece.style.background = color;
		chip.style.background = color;
		bar.append(piece);
		list.append(make('li', null, chip, `${name} `, number(bytes, bytesText(bytes), key), ` ${shareText(bytes, where.total_bytes)}`));
	}
	return [make('p', { class: 'calm' }, `Where ${bytesText(where.total_bytes)} are at ${instantText(device.at)}`), bar, list];
}

export function showCauses(device, view) {
	const parts = [];

	device.verdicts.forEach((verdict, i) => parts.push(verdictOf(device, verdict, i, view)));
	if (!parts.length)
		parts.push(make('p', { class: 'calm' }, device.failed_allocs ? 'It did not run out of memory: what failed was tried again with success.' : 'It did not run out of memory.'));
	parts.push(...whereOf(device));
	byId('why-title').textContent = device.verdicts.length ? OCCASIONS[device.verdicts[0].occasion] : 'Memory was enough';
	fill(byId('causes'), ...parts);
}
