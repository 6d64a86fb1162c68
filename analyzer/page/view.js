/* What is looked at, and its permanent link: the part of the address behind '#'. */

export class View {
	constructor() {
		this.onChange = () => {};
		this.values = {};
		window.addEventListener('hashchange', (event) => {
			/* Where the link led: what was still to be written may stand in the address by now. */
			const { hash } = new URL(event.newURL);

			/* A link to a place of the page has no '='. */
			if (hash === this.written || !hash.includes('='))
				return;
			clearTimeout(this.timer);
			this.read(hash);
		});
	}

	/* Numbers of the fragment are numbers; anything else in it is text that nobody trusts. */
	read(hash = location.hash) {
		const values = {};

		for (const pair of hash.slice(1).split('&')) {
			const [key, value] = pair.split('=');

			if (value === undefined)
				continue;
			try {
				values[key] = decodeURIComponent(value);
			} catch {
				values[key] = '';
			}
		}
		this.values = values;
		this.onChange(values, true);
	}

	get(key, otherwise) {
		return key in this.values ? this.values[key] : otherwise;
	}

	getNumber(key, otherwise, least, most) {
		const value = Number(this.get(key, NaN));

		return Number.isFinite(value) && value >= least && value <= most ? value : otherwise;
	}

	/* null takes a key away. */
	set(changes) {
		for (const [key, value] of Object.entries(changes))
			if (value === null)
				delete this.values[key];
			else
				this.values[key] = String(value);
		this.written = '#' + Object.entries(this.values).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
		/* Browsers count how often an address changes, and tire of it. */
		clearTimeout(this.timer);
		this.timer = setTimeout(() => history.replaceState(null, '', this.written), 150);
	}

	link(changes) {
		return '#' + Object.entries({ ...this.values, ...changes }).filter(([, value]) => value !== null)
			.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
	}
}
