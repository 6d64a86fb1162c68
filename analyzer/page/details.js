/* All that is known of a block, a segment or a hole. */
import { byId, make, fill, number } from './dom.js';
import { asker, state, view } from './store.js';
import { HOLE, FREE_SEGMENT, PYTHON } from './constants.js';
import { bytesText, timeText, addressText } from './units.js';

export function showNoEntry() {
	fill(byId('details'), make('p', { class: 'calm' }, 'Point at a block, or use the arrow keys, for its size, age and stack.'));
}

function rowOf(name, value) {
	return value === null || value === '' ? [] : [make('dt', null, name), make('dd', null, value)];
}

export async function showEntry(i) {
	const space = state.space;
	const type = space.type[i];
	const found = await asker.askNewest('item', { trace: state.trace, item: space.item[i], change: state.change });

	if (!found || space !== state.space)
		return;
	if (type >= HOLE) {
		fill(byId('details'), make('h3', null, type === FREE_SEGMENT ? 'Free segment: ' : 'Hole: ', number(space.size[i], bytesText(space.size[i]), 'hole.bytes')),
			make('dl', null, ...rowOf('pool', (found.owner || '').slice(0, 500)),
				...rowOf('segment', `${addressText(found.high, found.low)}, ${bytesText(found.size)}`),
				...rowOf('offset', bytesText(space.offset[i]))),
			make('p', { class: 'calm' }, type === FREE_SEGMENT ? 'Nothing is in this segment: the pool could give it back.' : 'Free, but the pool cannot give it back: blocks of the same segment are in use.'));
		return;
	}
	showItem(found);
}

export function showItem(found) {
	view.set({ item: found.item });
	fill(byId('details'), make('h3', null, number(found.size, bytesText(found.size), 'item.bytes'), found.pool ? ` block of ${found.pool.slice(0, 200)}` : ` ${found.kind}`),
		make('dl', null,
			...(found.hasAddress ? rowOf('address', addressText(found.high, found.low)) : []),
			...rowOf('age', `${found.isContinued ? 'at least ' : ''}${timeText(found.time - found.bornTime)}, since ${timeText(found.bornTime)}`),
			...rowOf('category', found.category), ...rowOf('step', found.step === null ? null : String(found.step)),
			...rowOf('phase', found.phase ? found.phase.slice(0, 2000) : null),
			...rowOf('freed', found.diedTime === null ? 'never' : `at ${timeText(found.diedTime)}`),
			...rowOf('kind', found.kind), ...rowOf('by', found.api)),
		make('ol', { tabindex: '0', 'aria-label': 'Stack, innermost first' }, ...(found.stack.length ? found.stack : [['(no stack was recorded)', PYTHON]])
			.map(([text, kind]) => make('li', { class: kind === PYTHON ? null : 'native' }, text.slice(0, 4000)))));
	if (!found.stack.some((frame) => frame[1] === PYTHON))
		byId('details').querySelectorAll('li').forEach((line) => line.classList.remove('native'));
}
