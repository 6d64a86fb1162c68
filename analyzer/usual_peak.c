#include "usual_peak.h"

#include "peak_curve.h"

/* Follows what is live on one device. */
struct follower {
	struct vs_observer observer; /* first */
	size_t device;               /* its index */
	struct vs_peak_curve curve;
};

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct follower *follower = (struct follower *)(void *)observer;
	struct vs_instant now;
	uint64_t bytes;

	if (!replay->is_in_window || follower->device >= replay->nr_devices)
		return 0;
	bytes = replay->devices[follower->device]->live_bytes;
	if (!vs_peak_curve_is_moved(&follower->curve, bytes))
		return 0;
	now = vs_instant_now(replay, record->thread);
	return vs_peak_curve_follow(&follower->curve, bytes, &now);
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	(void)replay;
	return vs_peak_curve_end(&((struct follower *)(void *)observer)->curve);
}

int vs_usual_peak_find(const struct vs_analysis *analysis, const struct vs_replay_device *device,
		       struct vs_usual_peak *usual)
{
	struct follower follower = {.observer = {.on_record = on_record, .on_end = on_end},
				    .device = device->index};
	struct vs_replay *replay;
	int err;

	vs_peak_curve_init(&follower.curve,
			   vs_measure_peak_get(&analysis->peak, device)->live.bytes);
	err = vs_analysis_observe(analysis, &follower.observer, &replay);
	if (!err) {
		usual->nr = follower.curve.nr_peaks;
		usual->bytes = vs_peak_curve_get_typical(&follower.curve);
		vs_replay_destroy(replay);
	}
	vs_peak_curve_fini(&follower.curve);
	return err;
}
