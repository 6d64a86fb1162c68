/* What the page is of, and the choice of traces and devices. */
import { byId, make, fill, number } from './dom.js';
import { story, state, traceNow, deviceNow } from './store.js';
import { bytesText, timeText, countText } from './units.js';

export function showHead() {
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
		notes.push(trace.running ? 'The program was still running.' : 'The program was killed, crashed, or left by _exit or exec; the trace holds all until then.');
	if (trace.overlaps)
		notes.push(`${countText(trace.overlaps)} times something new lay over something old, which was taken as freed.`);
	if (trace.orphan_blocks)
		notes.push(`${countText(trace.orphan_blocks)} pool blocks lie in memory that was not seen.`);
	fill(byId('notes'), ...notes.map((note) => make('p', null, note)));
	byId('foot').textContent = `vramscope ${story.version} · ${trace.trace} · everything is in this file, nothing is loaded`;
}

export function showChoice() {
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
