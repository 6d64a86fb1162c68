/* The page: reads the story, draws it at once, and lets the worker fill in the rest. */
import { byId, make, fill, number } from './dom.js';
import { AddressMap } from './map.js';
import { Chart } from './chart.js';
import { Flame } from './flame.js';
import { Tables } from './tables.js';
import { showCauses } from './causes.js';
import { story, asker, state, view, traceNow, deviceNow, markNow, question } from './store.js';
import { showHead, showChoice } from './head.js';
import { showLegend } from './legend.js';
import { showNoEntry, showEntry, showItem } from './details.js';
import { TABLES } from './sheets.js';
import { bytesText, timeText, countText, shareText } from './units.js';

const loaded = new Map(); /* trace number -> promise of what the worker says of it */

const chart = new Chart(byId('chart'), byId('strip'), {
	onWindow: windowMoved,
	onPick: pickTime,
	onHover: (levels) => showLegend(levels || state.levels),
});
const map = new AddressMap(byId('map'), { onChoose: showEntry });
const flame = new Flame(byId('flame'), { onChoose: showFrame });
const tables = new Tables({ onSort: (sort) => { state.sort = sort; view.set({ sort: `${sort.key}${sort.isDown ? '' : '-'}` }); } });

function complain(error) {
	byId('chart-status').textContent = `This page is damaged: ${error.message}`;
	throw error;
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

async function showBlock(item) {
	map.chooseItem(item);
	showItem(await asker.ask('item', { trace: state.trace, item, change: state.change }));
}

async function showTable() {
	const table = TABLES[state.table];
	const rows = await table.rows({ showBlock, goTo });

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
window.vramscopePage = { chart, map, flame, state, view, ask: (ask, fields) => asker.ask(ask, fields) };

setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
listen();
view.onChange = applyView;
view.read();
