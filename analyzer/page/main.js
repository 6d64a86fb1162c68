/* The page: reads the story, draws it at once, and lets the worker fill in the rest. */
import { byId, make, fill, number } from './dom.js';
import { Asker } from './asker.js';
import { AddressMap } from './map.js';
import { Chart } from './chart.js';
import { Flame } from './flame.js';
import { Tables } from './tables.js';
import { View } from './view.js';
import { palette, groupColor } from './palette.js';
import { showCauses } from './causes.js';
import { HOLE, FREE_SEGMENT, PYTHON } from './constants.js';
import { bytesText, timeText, countText, shareText, addressText } from './units.js';

const story = JSON.parse(byId('story').textContent);
const asker = new Asker();
const loaded = new Map(); /* trace number -> promise of what the worker says of it */
const state = { trace: 0, device: 0, by: 'site', change: 0, time: 0, keys: [], ready: null, table: 'sites', space: null, sort: { key: '', isDown: true } };

const view = new View(applyView);
const chart = new Chart(byId('chart'), byId('strip'), {
	onWindow: windowMoved,
	onPick: pickTime,
	onHover: (levels) => showLegend(levels || state.levels),
});
const map = new AddressMap(byId('map'), { onChoose: showEntry });
const flame = new Flame(byId('flame'), { onChoose: showFrame });
const tables = new Tables({ onSort: (sort) => { state.sort = sort; view.set({ sort: `${sort.key}${sort.isDown ? '' : '-'}` }); } });

const traceNow = () => story.traces[state.trace];
const deviceNow = () => traceNow().devices[state.device];
const markNow = (name) => deviceNow().marks.filter((mark) => mark.name === name).pop();

/* Fields of every question about the device as it is coloured now. */
function question(fields) {
	const device = deviceNow();
	const peak = markNow('peak');

	return { trace: state.trace, device: device.index, by: state.by, peak: peak ? peak.change : 0, keys: state.by === 'site' ? device.overview.sites.map((one) => one.site) : null, ...fields };
}

function complain(error) {
	byId('chart-status').textContent = `This page is damaged: ${error.message}`;
	throw error;
}

/* ---- Head ------------------------------------------------------------------------------------- */

function showHead() {
	const trace = traceNow();
	const device = deviceNow();
	const facts = [timeText(trace.duration_ns)];

	document.title = `${trace.command.slice(0, 80)} · vramscope`;
	byId('title').textContent = trace.command;
	if (device)
		facts.push(`GPU ${device.device} ${device.name || ''} ${device.total_bytes ? bytesText(device.total_bytes) : ''}${device.simulated ? ' (simulated)' : ''}`.trim());
	const events = byId('facts');

	fill(events, facts.join(' · '), ' · ', number(trace.events, countText(trace.events), 'events'), ' events, ',
		trace.lost_events ? number(trace.lost_events, `${countText(trace.lost_events)} lost`, 'lost_events') : 'none lost');
	const notes = [];

	if (trace.lost_events)
		notes.push('Events were lost: all numbers may be too low.');
	if (trace.dropped_events)
		notes.push(`${countText(trace.dropped_events)} events before the first were dropped (--max-size).`);
	if (trace.damaged)
		notes.push('Parts of the trace cannot be read.');
	if (!trace.complete)
		notes.push(trace.running ? 'The program was still running.' : 'The program did not end in order; the trace holds what happened until then.');
	if (trace.overlaps)
		notes.push(`${countText(trace.overlaps)} times something new lay over something old, which was taken as freed.`);
	if (trace.orphan_blocks)
		notes.push(`${countText(trace.orphan_blocks)} pool blocks lie in memory that was not seen.`);
	fill(byId('notes'), ...notes.map((note) => make('p', null, note)));
	byId('foot').textContent = `vramscope ${story.version} · ${trace.trace} · everything is in this file, nothing is loaded`;
}

function showChoice() {
	const isChoice = story.traces.length > 1 || traceNow().devices.length > 1;

	byId('choice').hidden = !isChoice;
	fill(byId('trace'), ...story.traces.map((trace, i) => {
		const peak = Math.max(0, ...trace.devices.map((device) => device.peak_live_bytes));
		const ooms = trace.devices.reduce((sum, device) => sum + device.ooms, 0);

		return make('option', { value: i, selected: i === state.trace }, `${trace.trace.slice(-60)} · peak ${bytesText(peak)}${ooms ? ' · out of memory' : ''}`);
	}));
	fill(byId('device'), ...traceNow().devices.map((device, i) =>
		make('option', { value: i, selected: i === state.device }, `GPU ${device.device} ${(device.name || '').slice(0, 60)} · peak ${bytesText(device.peak_live_bytes)}${device.ooms ? ' · out of memory' : ''}`)));
}

/* ---- Legend ----------------------------------------------------------------------------------- */

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

function showLegend(levels) {
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

/* ---- Time ------------------------------------------------------------------------------------- */

function overviewSeries(device) {
	const overview = device.overview;
	const nrGroups = overview.groups.length;
	const series = { from: overview.from_ns, to: overview.to_ns, columns: overview.columns, nrGroups, live: overview.live, reserved: overview.reserved, change: null, groups: new Float64Array(overview.columns * nrGroups) };

	overview.groups.forEach((levels, group) => levels.forEach((bytes, column) => {
		series.groups[column * nrGroups + group] = bytes;
	}));
	return series;
}

function marksOf(device) {
	const marks = [];

	for (const mark of device.marks) {
		if (mark.name === 'peak')
			marks.push({ time: mark.time_ns, text: 'peak', isAlarm: false });
		if (mark.name === 'oom')
			marks.push({ time: mark.time_ns, text: `out of memory: ${bytesText(mark.requested_bytes)}`, isAlarm: true });
	}
	/* The latest out-of-memory has the first word. */
	return marks.sort((a, b) => b.isAlarm - a.isAlarm || b.time - a.time);
}

let windowTimer = 0;

function windowMoved(from, to) {
	const isAll = from <= chart.start && to >= chart.end;

	view.set({ from: isAll ? null : Math.floor(from), to: isAll ? null : Math.ceil(to) });
	clearTimeout(windowTimer);
	windowTimer = setTimeout(refine, 40);
}

/* The finest picture of the window. What is on the screen meanwhile is the coarser one. */
async function refine() {
	if (!state.ready || chart.picture.width < 100)
		return;
	const columns = Math.max(64, Math.min(2048, Math.round(chart.plotWidth)));
	const shown = chart.series;

	if (shown && shown.from === chart.from && shown.to === chart.to && shown.columns === columns)
		return;
	const fields = question({ from: chart.from, to: chart.to, columns });
	const series = await asker.askNewest('series', fields);

	if (series && fields.trace === state.trace && fields.by === state.by && fields.device === deviceNow().index) {
		chart.series = series;
		chart.redraw();
	}
	const phases = await asker.askNewest('phases', fields);

	if (phases && fields.trace === state.trace)
		chart.setPhases(phases.visits);
	byId('chart').dataset.refined = `${Math.floor(fields.from)} ${Math.ceil(fields.to)}`;
}

async function pickTime(time) {
	if (!state.ready)
		return;
	const { change } = await asker.ask('find', { trace: state.trace, time });

	goTo(change);
}

/* Another instant: everything below the picture is of it. */
async function goTo(change, isFirst) {
	state.change = Math.max(0, Math.min(change, traceNow().changes));
	view.set({ at: state.change });
	await showInstant(isFirst);
}

async function showInstant() {
	const fields = question({ change: state.change });
	const space = await asker.askNewest('space', fields);

	if (!space || fields.trace !== state.trace)
		return;
	state.space = space;
	state.time = space.time;
	chart.at = space.time;
	chart.redraw();
	showNumbers(space);
	map.setSpace(space, state.keys.length + 1);
	showSegments();
	const item = view.getNumber('item', -1, 0, traceNow().items);

	if (map.chosen < 0 && !(item >= 0 && map.chooseItem(item)))
		showNoEntry();
	state.levels = { time: space.time, live: space.live, reserved: space.reserved, groups: [...space.groups] };
	showLegend(state.levels);
	refine();
	await showTree();
	await showTable();
	document.body.dataset.instant = state.change;
}

function stepText(time) {
	const steps = chart.steps;
	const next = chart.firstStep(time + 1);

	return next ? `, step ${steps[next - 1].number}` : '';
}

function showNumbers(space) {
	const fragmentation = space.worstBytes ? 1 - space.worstLargest / space.worstBytes : 0;
	const rows = [
		['instant', make('span', null, timeText(space.time), make('span', { class: 'calm' }, stepText(space.time)))],
		['live', number(space.live, bytesText(space.live), 'at.live_bytes')],
		['blocks and segments', number(space.count, countText(space.count), 'at.live_count')],
		['reserved', number(space.reserved, bytesText(space.reserved), 'at.reserved_bytes')],
		['in holes', number(space.holes, bytesText(space.holes), 'at.hole_bytes')],
		['largest hole', number(space.worstLargest, bytesText(space.worstLargest), 'at.largest_hole_bytes')],
		['fragmentation', number(fragmentation, fragmentation.toFixed(2), 'at.fragmentation')],
	];

	fill(byId('numbers'), ...rows.map(([name, value]) => make('div', null, make('dt', null, name), make('dd', null, value))));
	byId('map-title').textContent = `Address space at ${timeText(space.time)}`;
	byId('map').setAttribute('aria-label', `Address space at ${timeText(space.time)}: ${space.nrSegments} segments, ${countText(space.count)} live, ${space.nrHoles} holes`);
	byId('chart').setAttribute('aria-label', `Memory over time. At ${timeText(space.time)}: live ${bytesText(space.live)}, reserved ${bytesText(space.reserved)}`);
	byId('chart-status').textContent = `At ${timeText(space.time)}${stepText(space.time)}: live ${bytesText(space.live)} in ${bytesText(space.reserved)} reserved`;
}

function showSegments() {
	const texts = map.segmentTexts();

	fill(byId('segment'), make('option', { value: -1 }, `all ${countText(texts.length)} segments`), ...texts.map((text, i) => make('option', { value: i }, text)));
	byId('segment').value = String(map.only);
}

/* ---- A block ---------------------------------------------------------------------------------- */

function showNoEntry() {
	fill(byId('details'), make('p', { class: 'calm' }, 'Point at a block, or use the arrow keys, for its size, age and stack.'));
}

function rowOf(name, value) {
	return value === null || value === '' ? [] : [make('dt', null, name), make('dd', null, value)];
}

async function showEntry(i) {
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

function showItem(found) {
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

/* ---- Stacks ----------------------------------------------------------------------------------- */

async function showTree() {
	const mode = view.get('flame', 'live') === 'retained' ? 'retained' : 'live';
	const device = deviceNow();
	const tree = await asker.askNewest('tree', {
		trace: state.trace, device: device.index, change: state.change, hasAll: byId('native').checked,
		retained: mode === 'retained' ? device.retained_sites.filter((row) => row[1]).map(([site, bytes]) => [site, bytes]) : null,
	});

	if (!tree)
		return;
	byId('flame-mode').value = mode;
	byId('flame-title').textContent = mode === 'live' ? `Who has it at ${timeText(state.time)}` : `What is kept at the last ${device.retained.unit} boundary`;
	byId('flame').setAttribute('aria-label', mode === 'live' ? `Live memory by stack at ${timeText(state.time)}` : 'Memory that is kept, by stack');
	flame.setTree(tree, mode === 'retained');
}

function showFrame(i) {
	const tree = flame.tree;
	const status = byId('flame-status');

	if (!tree || i < 0)
		return;
	fill(status, number(tree.bytes[i], bytesText(tree.bytes[i]), 'flame.bytes'), ` ${shareText(tree.bytes[i], tree.bytes[0])}`,
		tree.count[i] ? ` in ${countText(tree.count[i])} blocks and segments` : '', ` · ${i ? tree.text[i].slice(0, 1000) : 'all'}`);
}

/* ---- Tables ----------------------------------------------------------------------------------- */

const bytesColumn = (key, title, value, isWide) => ({ key, title, isNumber: true, value, put: (row) => number(value(row), bytesText(value(row)), null), width: '112px', isWide });
const countColumn = (key, title, value, isWide) => ({ key, title, isNumber: true, value, put: (row) => number(value(row), countText(value(row)), null), width: '100px', isWide });
const nameColumn = (key, title, value, width, isWide) => ({ key, title, isNumber: false, value, put: (row) => value(row).slice(0, 1000), width, isWide });

const TABLES = {
	sites: {
		title: 'Sites',
		columns: [
			bytesColumn('bytes', 'live now', (row) => row.bytes), { ...countColumn('count', 'blocks', (row) => row.count), isExtra: true },
			bytesColumn('kept', 'kept', (row) => row.kept, true), bytesColumn('rate', 'per step', (row) => row.rate, true),
			bytesColumn('total', 'allocated', (row) => row.total, true), countColumn('allocs', 'times', (row) => row.allocs, true),
			nameColumn('name', 'site', (row) => row.text),
		],
		async rows() {
			const device = deviceNow();
			const { now, total } = await asker.ask('sites', { trace: state.trace, device: device.index, change: state.change });
			const live = new Map(now);
			const kept = new Map(device.retained_sites.map(([site, bytes, rate]) => [site, { bytes, rate }]));

			return total.map(([site, sum]) => ({
				text: (state.ready.tables.sites[site] || ['?'])[0], bytes: live.has(site) ? live.get(site).bytes : 0, count: live.has(site) ? live.get(site).count : 0,
				kept: kept.has(site) ? kept.get(site).bytes : 0, rate: kept.has(site) ? kept.get(site).rate : 0, total: sum.bytes, allocs: sum.count,
			}));
		},
	},
	blocks: {
		title: 'Blocks now',
		columns: [
			bytesColumn('bytes', 'size', (row) => row.bytes),
			{ key: 'age', title: 'age', isNumber: true, value: (row) => row.age, put: (row) => timeText(row.age), width: '90px', isExtra: true },
			{ key: 'address', title: 'address', isNumber: true, value: (row) => row.place, put: (row) => row.address, width: '150px', isWide: true },
			nameColumn('pool', 'pool or kind', (row) => row.pool, '160px', true), nameColumn('name', 'site', (row) => row.site),
		],
		async rows() {
			const found = await asker.ask('blocks', { trace: state.trace, device: deviceNow().index, change: state.change });
			const said = state.ready.tables;

			return Array.from(found.item, (item, i) => {
				const pool = found.pool[i] || found.owner[i];
				const row = {
					bytes: found.size[i], age: Math.max(0, state.time - found.born[i]), place: found.high[i] * 4294967296 + found.low[i],
					address: addressText(found.high[i], found.low[i]), pool: pool ? said.pools[pool - 1].name || 'pool' : said.kinds[found.kind[i]], site: (said.sites[found.site[i]] || ['?'])[0],
					async onChoose() {
						map.chooseItem(item);
						showItem(await asker.ask('item', { trace: state.trace, item, change: state.change }));
					},
				};

				row.text = `${row.site} ${row.pool} ${row.address}`;
				return row;
			});
		},
	},
	pools: {
		title: 'Pools',
		columns: [
			bytesColumn('peak', 'peak', (row) => row.peak_bytes), countColumn('allocs', 'allocated', (row) => row.allocs), countColumn('frees', 'freed', (row) => row.frees, true),
			bytesColumn('end', 'at the end', (row) => row.live_at_end_bytes, true), bytesColumn('limit', 'limit', (row) => row.limit_bytes, true), countColumn('ooms', 'failed', (row) => row.ooms), nameColumn('name', 'pool', (row) => row.text),
		],
		async rows() {
			return deviceNow().pools.map((pool) => ({ ...pool, text: pool.name || 'pool' }));
		},
	},
	kinds: {
		title: 'Kinds of memory',
		columns: [
			bytesColumn('peak', 'peak', (row) => row.peak_bytes), countColumn('allocs', 'allocated', (row) => row.allocs), countColumn('frees', 'freed', (row) => row.frees, true),
			bytesColumn('sum', 'in all', (row) => row.bytes_allocated, true), bytesColumn('end', 'at the end', (row) => row.live_at_end_bytes, true), countColumn('failed', 'failed', (row) => row.failed_allocs), nameColumn('name', 'kind', (row) => row.text),
		],
		async rows() {
			return Object.entries(deviceNow().memory_kinds).map(([kind, counts]) => ({ ...counts, text: kind }));
		},
	},
	failures: {
		title: 'Failures',
		columns: [
			{ key: 'time', title: 'time', isNumber: true, value: (row) => -row.time, put: (row) => timeText(row.time), width: '110px' },
			bytesColumn('bytes', 'asked', (row) => row.bytes), nameColumn('name', 'what became of it', (row) => row.text),
		],
		async rows() {
			const device = deviceNow();
			const final = new Set(device.marks.filter((mark) => mark.name === 'oom').map((mark) => mark.time_ns));

			return state.ready.failures.filter((one) => one.device === device.index).map((one) => ({
				time: one.time, bytes: one.size, text: final.has(one.time) ? 'out of memory' : 'failed; repeated, recovered, or part of another', onChoose: () => goTo(one.change),
			}));
		},
	},
};

async function showTable() {
	const table = TABLES[state.table];
	const rows = await table.rows();

	if (table !== TABLES[state.table])
		return;
	tables.query = byId('search').value.toLowerCase();
	tables.show(state.table, table.columns, rows, state.sort);
}

function makeTabs() {
	const names = Object.keys(TABLES);

	fill(byId('tabs'), ...names.map((name) => {
		const button = make('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'table-panel', 'aria-selected': name === state.table ? 'true' : 'false', tabindex: name === state.table ? '0' : '-1' }, TABLES[name].title);

		button.addEventListener('click', () => chooseTable(name));
		button.addEventListener('keydown', (event) => {
			const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];

			if (!by)
				return;
			const next = names[(names.indexOf(name) + by + names.length) % names.length];

			chooseTable(next);
			byId(`tab-${next}`).focus();
		});
		return button;
	}));
}

function chooseTable(name) {
	state.table = name;
	state.sort = { key: '', isDown: true };
	view.set({ table: name, sort: null });
	makeTabs();
	if (state.ready)
		showTable();
}

/* ---- Beginning -------------------------------------------------------------------------------- */

/* The window that the address names. */
function showWindow() {
	chart.show(view.getNumber('from', chart.start, chart.start, chart.end), view.getNumber('to', chart.end, chart.start, chart.end), true);
}

/* What the story alone can show: at once. */
function showFirst() {
	const device = deviceNow();

	chart.reset();
	showHead();
	showChoice();
	makeTabs();
	if (!device)
		return;
	byId('by-category').hidden = !traceNow().categories;
	showCauses(device, view);
	chart.start = device.overview.from_ns;
	chart.end = device.overview.to_ns;
	showWindow();
	chart.full = overviewSeries(device);
	chart.marks = marksOf(device);
	chart.setTop(Math.max(device.peak_reserved_bytes, device.peak_live_bytes), device.total_bytes);
	state.keys = device.overview.sites.map((one) => one.site);
	byId('go-oom').disabled = !markNow('oom');
	const mark = markNow('oom') || markNow('peak');

	chart.at = mark ? mark.time_ns : null;
	state.levels = mark ? chart.levelsAt(mark.time_ns) : null;
	showLegend(state.levels);
	chart.redraw();
}

async function showRest() {
	const number_ = state.trace;
	const trace = traceNow();

	if (!loaded.has(number_))
		loaded.set(number_, asker.load(number_, trace, (share) => {
			byId('chart-status').textContent = `Reading ${countText(trace.events)} events: ${Math.round(share * 100)} %`;
		}));
	const ready = await loaded.get(number_);

	if (number_ !== state.trace)
		return;
	state.ready = ready;
	chart.steps = ready.steps;
	chart.names = ready.tables.names;
	await regroup();
	const mark = markNow('oom') || markNow('peak');

	await goTo(view.getNumber('at', mark ? mark.change : 0, 0, trace.changes), true);
	jump();
	document.body.dataset.ready = 'yes';
}

/* Other colours. */
async function regroup() {
	if (state.by !== 'site' || !chart.full)
		chart.series = null;
	const fields = question({});
	const { keys } = await asker.ask('group', fields);

	state.keys = keys;
	chart.full = await asker.ask('series', { ...fields, from: chart.start, to: chart.end, columns: 1024 });
	chart.series = null;
	chart.redraw();
}

/* Links of the page may name a section. */
function jump() {
	const section = byId(view.get('go', '') || 'none');

	if (section)
		section.scrollIntoView();
	if (section)
		view.set({ go: null });
}

function applyView(values) {
	const trace = view.getNumber('t', 0, 0, story.traces.length - 1);
	const device = view.getNumber('d', 0, 0, Math.max(0, story.traces[trace].devices.length - 1));
	const isOther = !state.isStarted || trace !== state.trace || device !== state.device;

	state.trace = trace;
	state.device = device;
	state.by = ['site', 'category', 'pool', 'kind', 'phase'].includes(values.by) ? values.by : 'site';
	state.table = Object.hasOwn(TABLES, values.table || '') ? values.table : 'sites';
	state.sort = { key: (values.sort || '').replace('-', ''), isDown: !(values.sort || '').endsWith('-') };
	byId('by').value = state.by;
	byId('search').value = values.q || '';
	if (['dark', 'light'].includes(values.theme))
		setTheme(values.theme);
	if (isOther) {
		state.isStarted = true;
		state.ready = null;
		delete document.body.dataset.ready;
		showFirst();
		if (deviceNow())
			requestAnimationFrame(() => setTimeout(() => whenRead(() => showRest().catch(complain))));
		else
			document.body.dataset.ready = 'yes';
		return;
	}
	delete document.body.dataset.instant;
	showWindow();
	makeTabs();
	regroup().then(() => goTo(view.getNumber('at', state.change, 0, traceNow().changes))).then(jump).catch(complain);
}

/* The parts stand at the end of the file. */
function whenRead(then) {
	if (document.readyState === 'loading')
		document.addEventListener('DOMContentLoaded', then, { once: true });
	else
		then();
}

/* ---- Hands ------------------------------------------------------------------------------------ */

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	byId('theme').setAttribute('aria-pressed', String(theme === 'dark'));
	chart.redraw();
	map.picture.redraw();
	flame.picture.redraw();
	if (state.isStarted && deviceNow()) {
		showCauses(deviceNow(), view);
		showLegend(state.levels);
	}
}

const PAPER = 700; /* CSS pixels: A4 and Letter without their margins */
const pictures = () => [chart.picture, map.picture, flame.picture];
let screenTheme = null;

/* Paper is white. */
function beginPrint() {
	screenTheme = document.documentElement.dataset.theme;
	setTheme('light');
	pictures().forEach((picture) => picture.beginPrint(PAPER));
}

function endPrint() {
	setTheme(screenTheme);
	pictures().forEach((picture) => picture.endPrint());
}

function goToMark(name) {
	const mark = markNow(name);

	if (!mark)
		return;
	if (mark.time_ns < chart.from || mark.time_ns > chart.to)
		chart.show(mark.time_ns - (chart.to - chart.from) / 2, mark.time_ns + (chart.to - chart.from) / 2);
	goTo(mark.change);
}

/* The instant so many columns of pixels further. */
async function moveInstant(columns) {
	const by = columns * (chart.to - chart.from) / chart.plotWidth;
	const { change } = await asker.ask('find', { trace: state.trace, time: Math.max(0, state.time + by) });

	/* At least one event: an instant never lies between the changes of one. */
	if (change !== state.change) {
		goTo(change);
	} else if (columns < 0 && state.change) {
		goTo((await asker.ask('find', { trace: state.trace, time: state.time - 1 })).change);
	} else if (columns > 0) {
		goTo((await asker.ask('next', { trace: state.trace, change: state.change })).change);
	}
}

function moveStep(by) {
	const next = chart.firstStep(state.time + (by > 0 ? 1 : 0));
	const step = chart.steps[by > 0 ? next : next - 1];

	if (step)
		goTo(step.change);
}

const KEYS = {
	ArrowLeft: (event) => (event.shiftKey ? chart.move(-0.2) : moveInstant(-4)),
	ArrowRight: (event) => (event.shiftKey ? chart.move(0.2) : moveInstant(4)),
	'+': () => chart.zoom(0.5),
	'=': () => chart.zoom(0.5),
	'-': () => chart.zoom(2),
	0: () => chart.showAll(),
	Home: () => goTo(0),
	End: () => goTo(traceNow().changes),
	p: () => goToMark('peak'),
	o: () => goToMark('oom'),
	'[': () => moveStep(-1),
	']': () => moveStep(1),
};

function listen() {
	byId('chart').addEventListener('keydown', (event) => {
		const act = KEYS[event.key];

		if (!act || event.ctrlKey || event.altKey || event.metaKey || !state.ready)
			return;
		event.preventDefault();
		act(event);
	});
	document.addEventListener('keydown', (event) => {
		if (event.key !== '/' || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
			return;
		event.preventDefault();
		byId('search').focus();
	});
	byId('theme').addEventListener('click', () => {
		const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';

		setTheme(theme);
		view.set({ theme });
	});
	byId('keys-button').addEventListener('click', () => {
		byId('keys').hidden = !byId('keys').hidden;
		byId('keys-button').setAttribute('aria-expanded', String(!byId('keys').hidden));
	});
	byId('go-peak').addEventListener('click', () => goToMark('peak'));
	byId('go-oom').addEventListener('click', () => goToMark('oom'));
	byId('zoom-in').addEventListener('click', () => chart.zoom(0.5));
	byId('zoom-out').addEventListener('click', () => chart.zoom(2));
	byId('zoom-all').addEventListener('click', () => chart.showAll());
	byId('by').addEventListener('change', (event) => {
		state.by = event.target.value;
		view.set({ by: state.by });
		if (state.ready)
			regroup().then(() => showInstant()).catch(complain);
	});
	byId('segment').addEventListener('change', (event) => map.showSegment(Number(event.target.value)));
	byId('flame-mode').addEventListener('change', (event) => {
		view.set({ flame: event.target.value });
		if (state.ready)
			showTree();
	});
	byId('native').addEventListener('change', () => state.ready && showTree());
	byId('search').addEventListener('input', (event) => {
		tables.search(event.target.value);
		view.set({ q: event.target.value || null });
	});
	for (const [id, key] of [['trace', 't'], ['device', 'd']])
		byId(id).addEventListener('change', (event) => {
			location.hash = '#' + (key === 't' ? `t=${event.target.value}` : `t=${state.trace}&d=${event.target.value}`);
		});
	window.addEventListener('beforeprint', beginPrint);
	window.addEventListener('afterprint', endPrint);
	new ResizeObserver(() => refine()).observe(byId('chart'));
}

/* For the tests: what is drawn, and how often. */
window.vramscopePage = { chart, map, flame, state, ask: (ask, fields) => asker.ask(ask, fields) };

setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
listen();
view.read();
