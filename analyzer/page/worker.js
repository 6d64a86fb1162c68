/* The worker: decodes the parts of a trace, then answers. One message, one answer of the same id. */
import { inflate, decodePart, makeChanges } from './decode.js';
import { Model, changesAt } from './model.js';
import { spaceAt, describeItem } from './space.js';
import { makeTree, stackOf } from './tree.js';

const models = new Map(); /* by number of the trace */
const loading = new Map();

const answers = {
	async begin({ trace, changes, items, tables }) {
		const text = new TextDecoder().decode(await inflate(tables));

		loading.set(trace, { all: makeChanges(changes, items), tables: JSON.parse(text) });
		return {};
	},

	async part({ trace, text }) {
		decodePart(loading.get(trace).all, await inflate(text));
		return {};
	},

	async end({ trace, categories }) {
		const { all, tables } = loading.get(trace);

		all.category = categories ? await inflate(categories) : new Uint8Array(all.nrItems);

		const model = new Model(all, tables);

		loading.delete(trace);
		models.set(trace, model);
		return { tables, changes: all.nr, items: all.nrItems, steps: model.beside.steps, failures: model.beside.failures, lost: model.beside.lost, marks: model.beside.marks };
	},

	group({ trace, device, by, peak, keys }) {
		return { keys: models.get(trace).group(device, by, peak, keys).keys };
	},

	series({ trace, device, by, peak, keys, from, to, columns }) {
		const model = models.get(trace);

		return model.series(model.group(device, by, peak, keys), from, to, columns);
	},

	phases({ trace, from, to, columns }) {
		return visitsIn(models.get(trace).beside.visits, from, to, columns);
	},

	find({ trace, time }) {
		return { change: changesAt(models.get(trace).all, time) };
	},

	/* After the next event. */
	next({ trace, change }) {
		const all = models.get(trace).all;

		return { change: change < all.nr ? changesAt(all, all.time[change]) : change };
	},

	space({ trace, device, by, peak, keys, change }) {
		const model = models.get(trace);

		return spaceAt(model, model.group(device, by, peak, keys), change);
	},

	item({ trace, item, change }) {
		const model = models.get(trace);
		const found = describeItem(model, item, change);

		found.stack = stackOf(model.tables, found.site, true).reverse();
		return found;
	},

	tree({ trace, device, change, hasAll, retained }) {
		const model = models.get(trace);
		const sites = retained ? new Map(retained.map(([site, bytes]) => [site, { bytes, count: 0 }]))
			: model.sitesAt(device, change);

		return makeTree(model.tables, sites, hasAll);
	},

	sites({ trace, device, change }) {
		const model = models.get(trace);

		return { now: [...model.sitesAt(device, change)], total: [...model.siteTotals(device)] };
	},

	blocks({ trace, device, change }) {
		const model = models.get(trace);
		const all = model.all;
		const items = [];

		model.eachAlive(change, (item) => {
			if (all.device[item] === device)
				items.push(item);
		});
		return {
			item: Uint32Array.from(items),
			size: Float64Array.from(items, (i) => all.size[i]),
			high: Uint32Array.from(items, (i) => all.high[i]),
			low: Uint32Array.from(items, (i) => all.low[i]),
			born: Float64Array.from(items, (i) => all.time[all.born[i]]),
			site: Uint32Array.from(items, (i) => all.site[i]),
			kind: Uint8Array.from(items, (i) => all.kind[i]),
			pool: Uint16Array.from(items, (i) => all.pool[i]),
			owner: Uint16Array.from(items, (i) => all.owner[i]),
		};
	},
};

/* Phases of a stretch of time: those that are narrower than a pixel are one where they touch. */
function visitsIn(visits, from, to, columns) {
	const pixel = (to - from) / Math.max(columns, 1);
	const lastEnd = new Map();
	const found = [];

	for (const visit of visits) {
		if (visit.start > to)
			break;
		if (visit.end < from)
			continue;
		const row = `${visit.thread} ${visit.depth}`;
		const last = lastEnd.get(row);

		if (last && visit.end - visit.start < pixel && visit.start - last.end < pixel) {
			last.end = Math.max(last.end, visit.end);
			last.nr++;
			continue;
		}
		const copy = { ...visit, nr: 1 };

		lastEnd.set(row, copy);
		found.push(copy);
	}
	return { visits: found };
}

function buffersOf(result) {
	return Object.values(result).filter((value) => ArrayBuffer.isView(value)).map((value) => value.buffer);
}

let queue = Promise.resolve();

self.onmessage = (event) => {
	const { id, ask, ...fields } = event.data;

	queue = queue.then(async () => {
		try {
			const result = await answers[ask](fields);

			self.postMessage({ id, result }, buffersOf(result));
		} catch (error) {
			self.postMessage({ id, error: `${ask}: ${error.message}` });
		}
	});
};
