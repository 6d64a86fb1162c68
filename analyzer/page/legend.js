/* Who is who in the picture, and how much each has at an instant. */
import { byId, make, fill, number } from './dom.js';
import { state, deviceNow } from './store.js';
import { palette, groupColor } from './palette.js';
import { bytesText, timeText } from './units.js';

function groupName(key) {
	const said = state.ready ? state.ready.tables : null;

	if (state.by === 'site') {
		const known = deviceNow().overview.sites.find((one) => one.site === key);

		return known ? known.name || '(no stack)' : said && said.sites[key] ? said.sites[key][0] : '?';
	}
	if (state.by === 'kind')
		return said ? said.kinds[key] : '';
	if (state.by === 'pool')
		return key ? (said ? said.pools[key - 1].name || 'pool' : '') : 'no pool';
	if (state.by === 'category')
		return key ? (said ? said.categories[key - 1] : '') : 'not PyTorch\'s';
	return key ? (said ? said.names[key - 1] : '') : 'no phase';
}

function legendRow(kind, color, name, value, key) {
	const chip = make('span', { class: 'chip' });

	if (color)
		chip.style.background = color;
	else
		chip.style.visibility = 'hidden';
	return make('tr', { class: kind }, make('td', null, chip), make('td', { class: 'name', title: name.slice(0, 2000) }, make('span', null, name.slice(0, 300))),
		make('td', null, value === null ? '' : number(value, bytesText(value), key)));
}

export function showLegend(levels) {
	const device = deviceNow();
	const colors = palette();
	const rows = [];

	if (!levels)
		return;
	if (device.total_bytes)
		rows.push(legendRow('level', colors.capacity, 'capacity', device.total_bytes, 'total_bytes'));
	rows.push(legendRow('level', colors.reserved, 'reserved', levels.reserved, 'legend.reserved'));
	rows.push(legendRow('level', null, 'live', levels.live, 'legend.live'));
	state.keys.forEach((key, i) => rows.push(legendRow('group', groupColor(i, state.keys.length + 1), groupName(key), levels.groups[i], null)));
	const rest = levels.groups[state.keys.length];

	if (rest || !state.keys.length)
		rows.push(legendRow('group', groupColor(state.keys.length, state.keys.length + 1), state.keys.length ? 'all others' : 'live', rest || 0, null));
	byId('legend').caption.textContent = `at ${timeText(Math.round(levels.time))}`;
	fill(byId('legend').tBodies[0], ...rows);
}
