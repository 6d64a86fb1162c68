/* What the page is about, what is looked at, and who answers: shared by all of its parts. */
import { byId } from './dom.js';
import { Asker } from './asker.js';
import { View } from './view.js';

export const story = JSON.parse(byId('story').textContent);
export const asker = new Asker();
export const state = { trace: 0, device: 0, by: 'site', change: 0, time: 0, keys: [], ready: null, table: 'sites', space: null, sort: { key: '', isDown: true } };
export const view = new View();

export const traceNow = () => story.traces[state.trace];
export const deviceNow = () => traceNow().devices[state.device];
export const markNow = (name) => deviceNow().marks.filter((mark) => mark.name === name).pop();

/* Fields of every question about the device as it is coloured now. */
export function question(fields) {
	const device = deviceNow();
	const peak = markNow('peak');

	return { trace: state.trace, device: device.index, by: state.by, peak: peak ? peak.change : 0, keys: state.by === 'site' ? device.overview.sites.map((one) => one.site) : null, ...fields };
}
