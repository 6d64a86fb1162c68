/* The tables: their columns, and where their rows come from. */
import { number } from './dom.js';
import { asker, state, deviceNow } from './store.js';
import { bytesText, timeText, countText, addressText } from './units.js';

/* rows({ showBlock(item), goTo(change) }): what a row does when it is chosen. */
const bytesColumn = (key, title, value, isWide) => ({ key, title, isNumber: true, value, put: (row) => number(value(row), bytesText(value(row)), null), width: '112px', isWide });
const countColumn = (key, title, value, isWide) => ({ key, title, isNumber: true, value, put: (row) => number(value(row), countText(value(row)), null), width: '100px', isWide });
const nameColumn = (key, title, value, width, isWide) => ({ key, title, isNumber: false, value, put: (row) => value(row).slice(0, 1000), width, isWide });

export const TABLES = {
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
		async rows({ showBlock }) {
			const found = await asker.ask('blocks', { trace: state.trace, device: deviceNow().index, change: state.change });
			const said = state.ready.tables;

			return Array.from(found.item, (item, i) => {
				const pool = found.pool[i] || found.owner[i];
				const row = {
					bytes: found.size[i], age: Math.max(0, state.time - found.born[i]), place: found.high[i] * 4294967296 + found.low[i],
					address: addressText(found.high[i], found.low[i]), pool: pool ? said.pools[pool - 1].name || 'pool' : said.kinds[found.kind[i]], site: (said.sites[found.site[i]] || ['?'])[0],
					onChoose: () => showBlock(item),
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
		async rows({ goTo }) {
			const device = deviceNow();
			const final = new Set(device.marks.filter((mark) => mark.name === 'oom').map((mark) => mark.time_ns));

			return state.ready.failures.filter((one) => one.device === device.index).map((one) => ({
				time: one.time, bytes: one.size, text: final.has(one.time) ? 'out of memory' : 'failed; repeated, recovered, or part of another', onChoose: () => goTo(one.change),
			}));
		},
	},
};
