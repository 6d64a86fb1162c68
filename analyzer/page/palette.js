/* Colours. Groups differ in lightness and hue, so that they stay apart for everybody. */

const LIGHT = {
	groups: ['#33518f', '#7fb8de', '#1b7f6e', '#d9c45f', '#a63d5a', '#8a8f2f', '#6d3f8c', '#e39a86', '#5fb39c', '#b06fb0'],
	other: '#b9bec5', hole: '#f4e3bd', holeLine: '#c08a1e', free: '#eceef0', freeLine: '#a9b0b8',
	reserved: '#5c6470', capacity: '#8d2f2b', grid: '#e6e8ea', axis: '#59616d', text: '#1b1e23', panel: '#ffffff',
	failure: '#a3181d', cursor: '#1b1e23', phases: ['#e3e9f1', '#cfd9e6'], window: 'rgba(11, 87, 164, .14)', shade: 'rgba(246, 246, 244, .74)', step: '#c3c9d1',
};
const DARK = {
	groups: ['#7f9fe0', '#2f6f9e', '#57c2ac', '#a8923a', '#e2809a', '#c9cf6b', '#9a6fc0', '#a85f4b', '#2f7f6b', '#dba3db'],
	other: '#6b737e', hole: '#4a3d1d', holeLine: '#e0b04a', free: '#2a2f36', freeLine: '#6b737e',
	reserved: '#c3cad3', capacity: '#ff9c94', grid: '#2c323a', axis: '#a4adb9', text: '#e8eaed', panel: '#1c2026',
	failure: '#ff9c94', cursor: '#f4f5f7', phases: ['#2a3340', '#374456'], window: 'rgba(140, 194, 247, .2)', shade: 'rgba(20, 23, 27, .66)', step: '#454d58',
};

export function palette() {
	return document.documentElement.dataset.theme === 'dark' ? DARK : LIGHT;
}

/* The last group is all others. */
export function groupColor(group, nrGroups) {
	const colors = palette();

	return group >= nrGroups - 1 ? colors.other : colors.groups[group % colors.groups.length];
}

function luminance(color) {
	const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
		.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));

	return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

/* Black or white, whichever is easier to read on it. */
export function inkOn(color) {
	const ground = luminance(color);

	return (ground + 0.05) / 0.05 > 1.05 / (ground + 0.05) ? '#000000' : '#ffffff';
}

/* A colour for a text, always the same: warm ones, as flame graphs have; or grey. */
export function textColor(text, isWarm) {
	let hash = 0;

	for (let i = 0; i < text.length && i < 200; i++)
		hash = (hash * 31 + text.charCodeAt(i)) | 0;
	const dark = document.documentElement.dataset.theme === 'dark';
	const shades = !isWarm ? (dark ? ['#4a525d', '#525b67', '#434b55'] : ['#d5dae0', '#c9d0d8', '#dfe3e8'])
		: (dark ? ['#7d5129', '#86582a', '#6f4522', '#8c5e30'] : ['#f2c58a', '#eeb878', '#f6d3a0', '#e9ae6a']);

	return shades[Math.abs(hash) % shades.length];
}
