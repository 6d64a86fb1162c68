/*
 * Stacked levels as pixels. A path of a thousand steps for each group takes a browser without a GPU
 * tens of milliseconds a frame; writing the pixels takes one or two.
 */
import { groupColor } from './palette.js';

/* '#rrggbb' as the bytes of a pixel stand in memory. */
function pixelOf(color) {
	const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

	return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export class Bands {
	constructor() {
		this.canvas = document.createElement('canvas');
		this.image = null;
	}

	/* Room for so many device pixels, all clear. */
	begin(width, height) {
		if (!this.image || this.image.width !== width || this.image.height !== height) {
			this.canvas.width = width;
			this.canvas.height = height;
			this.image = new ImageData(width, height);
			this.pixels = new Uint32Array(this.image.data.buffer);
		} else {
			this.pixels.fill(0);
		}
	}

	/*
	 * The columns of pixels from `first` up to `last`. columnOf(x): where in the series a pixel's left edge
	 * lies. Of all columns of the series that a pixel covers it shows the one with most live bytes.
	 */
	put(series, first, last, columnOf, top) {
		const { width, height } = this.image;
		const { nrGroups, groups, live, columns } = series;
		const inks = [];

		for (let group = 0; group < nrGroups; group++)
			inks.push(pixelOf(groupColor(group, nrGroups)));
		for (let x = Math.max(0, first); x < Math.min(width, last); x++) {
			const from = Math.max(0, Math.min(columns - 1, Math.floor(columnOf(x))));
			const to = Math.max(from + 1, Math.min(columns, Math.floor(columnOf(x + 1))));
			let most = from;

			for (let i = from + 1; i < to; i++)
				if (live[i] > live[most])
					most = i;
			let sum = 0;
			let bottom = height;
			for (let group = 0; group < nrGroups; group++) {
				sum += groups[most * nrGroups + group];
				const edge = Math.max(0, Math.round(height - sum / top * height));

				for (let at = (bottom - 1) * width + x; bottom > edge; bottom--, at -= width)
					this.pixels[at] = inks[group];
			}
		}
	}

	/* Onto the picture, at a place in its own units. */
	end(context, x, y, width, height) {
		this.canvas.getContext('2d').putImageData(this.image, 0, 0);
		context.drawImage(this.canvas, x, y, width, height);
	}
}
